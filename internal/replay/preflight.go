package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// Preflight is what a replay of one message would meet now.
type Preflight struct {
	MessageID  string
	Verdict    Verdict
	Why        string // one of the Why constants
	Consent    Consent
	Guards     []GuardAnswer
	Releasable []keys.Key // those that may be released with the replay
	// Destination has no Queue and no Exchange where it is not known.
	Destination Destination
	// NewerSucceeded are later messages with the same business key that were
	// resolved, at most five.
	NewerSucceeded []string
	// Unacked is how many deliveries the original queue's consumers hold; nil
	// where it is not known.
	Unacked *int64
	ReadAt  time.Time
	// AfterRelease is the verdict once the releasable keys are gone.
	AfterRelease Verdict
	// PossibleCopy: the broker may have delivered the message twice, so that a
	// replay needs OverrideCopy beside what Consent asks for.
	PossibleCopy bool
	// Lookalikes are what the message may be a copy of, and what may be a copy of
	// it; only Service.Preflight and PossibleCopyError have them.
	Lookalikes dlq.Lookalikes

	// Unit is what would be sent; only Service.Preflight and NotAgreedError have
	// it. Its Consents are among Words.
	Unit dlq.Unit

	resolved bool // it goes again only by the operator's word
}

// Preflight says what a replay of a message would meet now, by the given route
// (RouteAuto and "": as its source is configured). It returns dlq.ErrNotFound;
// what did not answer is part of the preflight.
func (s *Service) Preflight(ctx context.Context, messageID string, route Route) (Preflight, error) {
	sub, err := s.look(ctx, messageID)
	if err != nil {
		return Preflight{}, err
	}
	newer, err := s.newerSucceeded(ctx, sub.message)
	if err != nil {
		return Preflight{}, err
	}
	likes, err := s.store.Lookalikes(ctx, sub.message)
	if err != nil {
		return Preflight{}, err
	}
	p, err := sub.preflight(route)
	p.NewerSucceeded, p.Lookalikes = newer, likes
	if unit, failed := s.Unit(ctx, messageID, sub.message.Round); failed == nil {
		p = p.with(unit)
	} else {
		return Preflight{}, failed
	}
	if err != nil && !errors.Is(err, ErrNoDestination) {
		return Preflight{}, err
	}
	return p, nil
}

// preflight puts sub in order for people. It returns ErrNoDestination beside
// everything else that is known.
func (sub subject) preflight(route Route) (Preflight, error) {
	p := Preflight{
		MessageID: sub.message.ID, Verdict: sub.decision.Verdict, Why: sub.decision.Why,
		Consent: ConsentFor(sub.decision.Verdict), Guards: answers(sub.evidence),
		Unacked: sub.evidence.Unacked, ReadAt: sub.evidence.At,
		Releasable: releasable(sub.evidence), PossibleCopy: sub.message.PossibleCopy, resolved: sub.message.State == dlq.Resolved,
	}
	if (sub.message.State == dlq.Resolved || sub.message.PossibleCopy) && p.Consent == SentFreely {
		p.Consent = SentOverride // what is done, or may be a copy, goes only by the operator's word
	}
	gone := map[string]bool{}
	for _, k := range p.Releasable {
		gone[k.Name] = true
	}
	p.AfterRelease = Decide(sub.evidence.without(gone)).Verdict
	d, err := sub.destination(route)
	p.Destination = d
	return p, err
}

// Words returns what Request.Override has to name so that the message goes;
// where Consent is SentReleased, together with the release of Releasable. No
// words help where Consent is SentNever.
func (p Preflight) Words() []Verdict {
	var words []Verdict
	if p.Unit.Problem != "" {
		return nil
	}
	verdict := p.Verdict
	if p.Consent == SentReleased {
		verdict = p.AfterRelease
	}
	switch ConsentFor(verdict) {
	case SentOverride:
		words = append(words, verdict)
	case SentFreely:
		if p.resolved {
			words = append(words, verdict)
		}
	case SentNever, SentReleased:
		return nil
	}
	if p.PossibleCopy {
		words = append(words, OverrideCopy)
	}
	for _, word := range p.Unit.Consents {
		words = append(words, Verdict(word))
	}
	return words
}

// releasable returns the keys that the evidence lets go: stale ones, and held
// ones of which only a human can tell. Where the business database says that
// the work was done, or contradicts itself, none is.
func releasable(e Evidence) []keys.Key {
	if _, unknown := unanswered(e); unknown {
		return nil
	}
	if e.protects() {
		return nil
	}
	var free []keys.Key
	for _, r := range e.Keys {
		if lets(r, e) {
			free = append(free, r.Key)
		}
	}
	return free
}

// lets reports that one readable key may be released, where the business
// database does not protect it.
func lets(r KeyReading, e Evidence) bool { return ConsentFor(decideKey(r, e).Verdict) == SentReleased }

// maxNewer bounds Preflight.NewerSucceeded.
const maxNewer = 5

func (s *Service) newerSucceeded(ctx context.Context, m dlq.Message) ([]string, error) {
	if m.BusinessKey == "" {
		return nil, nil
	}
	const sql = `
		SELECT id::text FROM dead_letters
		WHERE business_key = @business_key AND died_at > @died_at AND source = @source
		  AND state = 'resolved' AND id <> @id
		ORDER BY died_at DESC
		LIMIT @limit`
	rows, err := s.pool.Query(ctx, sql, pgx.NamedArgs{
		"business_key": m.BusinessKey, "died_at": m.DiedAt, "source": m.Source, "id": m.ID, "limit": maxNewer,
	})
	if err != nil {
		return nil, fmt.Errorf("replay: find newer messages of %s: %w", m.ID, err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("replay: find newer messages of %s: %w", m.ID, err)
	}
	return ids, nil
}

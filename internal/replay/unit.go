package replay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// Errors that callers tell apart.
var (
	// ErrNotAgreed: what would be sent is not, or may not be, what died, and the
	// request did not say to go on all the same.
	ErrNotAgreed = errors.New("what would be sent has to be agreed to")
	// ErrNoUnit: the dead letter is an envelope without a message that could be sent.
	ErrNoUnit = errors.New("the envelope holds no message that could be sent")
)

// unitOverrides are the words of Request.Override by which an operator agrees
// to what a replay sends; see the Consent constants of package dlq.
func unitOverrides() []Verdict {
	words := make([]Verdict, len(dlq.Consents))
	for i, word := range dlq.Consents {
		words[i] = Verdict(word)
	}
	return words
}

// NotAgreedError is ErrNotAgreed or ErrNoUnit with what would be sent.
type NotAgreedError struct {
	Preflight Preflight
	Unit      dlq.Unit
}

func (e *NotAgreedError) Error() string {
	if e.Unit.Problem != "" {
		return fmt.Sprintf("replay: message %s: %v (%s)", e.Preflight.MessageID, ErrNoUnit, e.Unit.Problem)
	}
	return fmt.Sprintf("replay: message %s: %v: %v", e.Preflight.MessageID, ErrNotAgreed, e.Unit.Consents)
}

// Unwrap makes errors.Is find ErrNotAgreed or ErrNoUnit.
func (e *NotAgreedError) Unwrap() error {
	if e.Unit.Problem != "" {
		return ErrNoUnit
	}
	return ErrNotAgreed
}

// agrees reports whether the request names all that u asks for.
func (r Request) agrees(u dlq.Unit) bool {
	return u.Problem == "" && !slices.ContainsFunc(u.Consents, func(word string) bool {
		return !slices.Contains(r.Override, Verdict(word))
	})
}

// Unit returns what a replay of one life of a message would send now, round 0
// being the current life, or dlq.ErrNotFound. Where nothing at the start of the
// body tells of a framework that writes there, the rest is not read, and
// Unit.Body is that start.
func (s *Service) Unit(ctx context.Context, id string, round int) (dlq.Unit, error) {
	life, err := s.store.Life(ctx, id, round)
	if err != nil {
		return dlq.Unit{}, err
	}
	body, err := s.store.BodyPart(ctx, id, life.Round, 0, dlq.TellingStart)
	if err == nil && int64(len(body)) < life.BodySize && dlq.BodyTells(body) {
		body, err = s.store.Body(ctx, id, life.Round)
	}
	return dlq.UnitOf(life, body, s.now()), err
}

// parcel is what a replay sends, with the body that died.
type parcel struct {
	dlq.Unit
	died []byte
}

// pack reads the life that c claims.
func (s *Service) pack(ctx context.Context, c claim) (parcel, error) {
	life, err := s.store.Life(ctx, c.id.String(), c.round)
	if err != nil {
		return parcel{}, err
	}
	body, err := s.store.Body(ctx, c.id.String(), c.round)
	return parcel{dlq.UnitOf(life, body, s.now()), body}, err
}

// mayEdit returns a NotAgreedError where r does not agree to what would be sent.
func (s *Service) mayEdit(ctx context.Context, r Request, sub subject, p Preflight) error {
	u, err := s.Unit(ctx, sub.message.ID, sub.message.Round)
	if err != nil {
		return err
	}
	if !r.agrees(u) {
		return &NotAgreedError{p.with(u), u}
	}
	return nil
}

// with adds what u asks for.
func (p Preflight) with(u dlq.Unit) Preflight {
	p.Unit = u
	if len(u.Consents) > 0 && p.Consent == SentFreely {
		p.Consent = SentOverride
	}
	if u.Problem != "" {
		p.Consent = SentNever
	}
	return p
}

// keepSent notes on the attempt which bytes are going to be sent, and keeps
// them where they are not those that died; the audit says so.
func (s *Service) keepSent(ctx context.Context, tx pgx.Tx, c claim, l parcel) error {
	sum := sha256.Sum256(l.Body)
	var kept []byte // NULL, where not set
	if !bytes.Equal(l.Body, l.died) {
		kept = append([]byte{}, l.Body...)
	}
	const sql = `UPDATE attempts SET sent_sha256 = @sum, sent_body = @body WHERE replay_id = @replay AND message_id = @id`
	args := pgx.NamedArgs{"sum": sum[:], "body": kept, "replay": c.replayID, "id": c.id}
	if _, err := tx.Exec(ctx, sql, args); err != nil || kept == nil {
		return err
	}
	was := sha256.Sum256(l.died)
	return audit.Write(ctx, tx, audit.Entry{
		At: s.now(), Actor: c.request.Actor, From: c.request.From, Act: audit.ActEdit, Object: "message " + c.id.String(),
		OperationID: c.operation(), Reason: c.request.Reason,
		Result: fmt.Sprintf("sha256 %s instead of %s", hex.EncodeToString(sum[:]), hex.EncodeToString(was[:])),
	})
}

// SentBody returns the exact bytes that a replay sent of a message, or
// dlq.ErrNotFound where it sent none.
func (s *Service) SentBody(ctx context.Context, messageID string, replayID int64) ([]byte, error) {
	id, err := uuid.Parse(messageID)
	if err != nil {
		return nil, fmt.Errorf("replay: read sent body: %w", dlq.ErrNotFound)
	}
	const sql = `
		SELECT coalesce(a.sent_body, l.body)
		FROM attempts a JOIN lives l ON l.message_id = a.message_id AND l.round = a.round
		WHERE a.message_id = @id AND a.replay_id = @replay AND a.route IS NOT NULL`
	var body []byte
	err = s.pool.QueryRow(ctx, sql, pgx.NamedArgs{"id": id, "replay": replayID}).Scan(&body)
	if errors.Is(err, pgx.ErrNoRows) {
		err = dlq.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("replay: read body that replay %d sent of %s: %w", replayID, id, err)
	}
	return body, nil
}

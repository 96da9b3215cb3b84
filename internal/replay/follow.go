package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// Report takes a consumer's word about a replayed message. It can come twice,
// late, before the confirm, or for an attempt that is unknown, which it then
// settles: it proves that the message was sent. It never replaces a better
// outcome (see weight). It returns dlq.ErrNotFound where there is no such
// attempt, or one that surely was never published, and dlq.ErrBadState for one
// that the broker returned, refused or never got: that is proof, a report is a
// word.
func (s *Service) Report(ctx context.Context, r keys.Report) error {
	return s.report(ctx, r, "")
}

// report is Report; a position of the stream is saved in the same transaction.
func (s *Service) report(ctx context.Context, r keys.Report, position string) error {
	id, replayID, err := attemptOf(r)
	if err != nil {
		return err
	}
	effect := cannotTell
	if r.Outcome == keys.ReportDuplicate {
		// Outside of the transaction: no row is locked while others are asked.
		if effect, err = s.effectOf(ctx, id, replayID); err != nil {
			return err
		}
	}
	var settled learned
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		if settled, err = s.learn(ctx, tx, replayID, id, fromReport(r, effect, s.now())); err != nil {
			return err
		}
		return saveCursor(ctx, tx, position)
	})
	if err != nil {
		return fmt.Errorf("replay: take report on message %s: %w", id, err)
	}
	s.count(settled)
	return nil
}

func attemptOf(r keys.Report) (id uuid.UUID, replayID int64, err error) {
	id, errID := uuid.Parse(r.MessageID)
	replayID, errReplay := strconv.ParseInt(r.ReplayID, 10, 64)
	if errID != nil || errReplay != nil || !r.Valid() {
		return id, 0, fmt.Errorf("replay: take report: %w", dlq.ErrNotFound)
	}
	return id, replayID, nil
}

// effectOf asks the probes whether an attempt's work was done.
func (s *Service) effectOf(ctx context.Context, id uuid.UUID, replayID int64) (happening, error) {
	const sql = `
		SELECT m.source, coalesce(a.business_key, '')
		FROM attempts a JOIN dead_letters m ON m.id = a.message_id
		WHERE a.replay_id = @replay AND a.message_id = @id`
	var source, key string
	err := s.pool.QueryRow(ctx, sql, pgx.NamedArgs{"replay": replayID, "id": id}).Scan(&source, &key)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return cannotTell, fmt.Errorf("replay: take report on message %s: %w", id, dlq.ErrNotFound)
	case err != nil:
		return cannotTell, fmt.Errorf("replay: take report on message %s: %w", id, err)
	case key == "":
		return cannotTell, nil
	}
	var e Evidence
	e.State, e.Effect = s.probe(ctx, s.plans[source].Guards, key)
	return e.happening(), nil
}

// learned is what became of a finding, for the counters. They count once it is
// committed, but a return, whose transaction is the drain's: one that is rolled
// back and noted again is counted twice.
type learned struct {
	source  string
	sent    bool // the finding proved that the attempt was sent
	outcome Outcome
}

func (s *Service) count(l learned) {
	if l.sent {
		s.metrics.countAttempt(l.source, Sent)
	}
	if l.outcome != "" {
		s.metrics.countOutcome(l.source, l.outcome)
	}
}

// learn applies a finding to an attempt and its message.
func (s *Service) learn(ctx context.Context, tx pgx.Tx, replayID int64, id uuid.UUID, f finding) (learned, error) {
	m, err := lockMessage(ctx, tx, id)
	if err != nil {
		return learned{}, err
	}
	a, err := lockAttempt(ctx, tx, replayID, id)
	if err != nil {
		return learned{}, err
	}
	l := learned{source: m.source}
	if a.state == Skipped || !a.prepared {
		return l, fmt.Errorf("it was never published: %w", dlq.ErrNotFound)
	}
	if f.source == FromReport && a.provedUnsent() {
		return l, fmt.Errorf("%w: the attempt was %s, so no consumer can have had it", dlq.ErrBadState, a.state)
	}
	if a.state != Sent {
		a.state, a.outcome, a.source, a.detail = Sent, Awaited, "", ""
		a.sentAt, a.settleAfter = &f.at, new(s.now().Add(s.every))
		l.sent = true
		if err := endReplay(ctx, tx, replayID, s.now(), "done", ""); err != nil {
			return l, err
		}
	}
	if f.replaces(a) {
		if err := auditCorrection(ctx, tx, a, f); err != nil {
			return l, err
		}
		a.outcome, a.source, a.settledAt, a.settleAfter = f.outcome, f.source, &f.at, nil
		a.detail = f.detail
		l.outcome = f.outcome
	} else if f.outcome == Awaited && a.outcome == Awaited && f.detail != "" {
		a.detail = f.detail
	}
	if err := a.save(ctx, tx); err != nil {
		return l, err
	}
	if next, moves := nextState(m, a, a.outcome); moves {
		return l, moveMessage(ctx, tx, id, next, s.now())
	}
	return l, nil
}

// provedUnsent reports that the broker's own answer shows that no queue took the
// message. An operator's word that it was not sent is no such proof.
func (a attempt) provedUnsent() bool {
	switch a.state {
	case Returned, Refused:
		return true
	case Blocked:
		return a.detail != DetailSettledNot
	}
	return false
}

// auditCorrection keeps an outcome that was shown as settled and is no longer
// true: an operator who acted on it finds it in the audit.
func auditCorrection(ctx context.Context, tx pgx.Tx, a attempt, f finding) error {
	if a.settledAt == nil {
		return nil
	}
	return audit.Write(ctx, tx, audit.Entry{
		At: f.at, Actor: operatorOfConsole, Act: audit.ActCorrect, Object: "message " + a.messageID.String(),
		OperationID: operationOf(a.replayID), Result: string(f.outcome),
		Reason: fmt.Sprintf("was %s by %s, is %s by %s", a.outcome, a.source, f.outcome, f.source),
	})
}

// NoteReturn notes, in the transaction tx of the drain that stores the new
// life, that the message which a replay sent came back dead. It beats every
// other outcome, however late, and settles an unknown attempt. The message's
// own state is the drain's to write. It returns dlq.ErrNotFound where there is
// no such attempt.
func (s *Service) NoteReturn(ctx context.Context, tx pgx.Tx, messageID string, replayID int64, at time.Time) error {
	id, err := uuid.Parse(messageID)
	if err != nil {
		return fmt.Errorf("replay: note return: %w", dlq.ErrNotFound)
	}
	f := finding{outcome: DeadAgain, source: FromDeadLetter, detail: DetailBackDead, at: at}
	l, err := s.learn(ctx, tx, replayID, id, f)
	if err != nil {
		return fmt.Errorf("replay: note return of message %s: %w", id, err)
	}
	s.count(l)
	return nil
}

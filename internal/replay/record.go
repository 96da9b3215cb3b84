package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// ending is how an attempt ended.
type ending struct {
	state    AttemptState
	detail   string
	released []ReleasedKey
}

// words returns the ending's detail, with a remark where keys went for nothing.
func (e ending) words() string {
	if e.state == Sent || e.state == AttemptUnknown || e.detail == DetailLeaseReleasing {
		return clean(e.detail)
	}
	for _, k := range e.released {
		switch k.Result {
		case keys.Released:
			return clean("The key was released before this; it holds the message back no more. " + e.detail)
		case ReleaseUnknown:
			return clean("The key may have been released; read it again. " + e.detail)
		}
	}
	return clean(e.detail)
}

// Retries of the transaction that records an ending: the database may be
// restarting, and what was sent should not become unknown for that.
const (
	recordTries = 5
	recordPause = 200 * time.Millisecond
)

// record saves how an attempt ended. Where the database does not take it, the
// attempt is reported as unknown: the claim stays, and its lease makes it so.
func (s *Service) record(ctx context.Context, c claim, end ending) Result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.publishBound())
	defer cancel()
	var result Result
	var err error
	for try := range recordTries {
		if result, err = s.recordOnce(ctx, c, end); err == nil {
			return result
		}
		select {
		case <-ctx.Done():
		case <-time.After(recordPause << try):
		}
	}
	s.log.ErrorContext(ctx, "replay: an attempt could not be recorded", "replay", c.replayID, "message", c.id,
		"attempt", end.state, "err", err)
	return Result{
		ReplayID: c.replayID, Attempt: AttemptUnknown, Released: end.released,
		Detail: "the database did not take the result (" + string(end.state) + "); it becomes unknown when the claim ends",
	}
}

func (s *Service) recordOnce(ctx context.Context, c claim, end ending) (Result, error) {
	var result Result
	counted := false
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		m, err := lockMessage(ctx, tx, c.id)
		if err != nil {
			return err
		}
		a, err := lockAttempt(ctx, tx, c.replayID, c.id)
		if err != nil {
			return err
		}
		// A report or the dead letter itself may have been faster than the
		// confirm, and an operator may have settled it: their word stands.
		counted = a.state == Waiting || a.state == AttemptUnknown
		if counted {
			if a, err = s.end(ctx, tx, c, m, a, end); err != nil {
				return err
			}
		}
		result = Result{
			ReplayID: c.replayID, Attempt: a.state, Outcome: a.outcome, OutcomeSource: a.source,
			Detail: a.detail, Verdict: a.verdict, Released: end.released,
		}
		return s.auditEnd(ctx, tx, c, string(a.state))
	})
	if err != nil {
		return Result{}, fmt.Errorf("replay: record attempt of message %s: %w", c.id, err)
	}
	if counted {
		s.metrics.countAttempt(c.source, result.Attempt)
	}
	return result, nil
}

// end writes the ending to the attempt, the message and the replay.
func (s *Service) end(ctx context.Context, tx pgx.Tx, c claim, m lockedMessage, a attempt, end ending) (attempt, error) {
	a.state, a.detail = end.state, end.words()
	now := s.now()
	if end.state == Sent {
		a.outcome, a.sentAt, a.settleAfter = Awaited, &now, new(now.Add(s.every))
	}
	if len(end.released) > 0 {
		a.released = releasedJSON(end.released)
	}
	if err := a.save(ctx, tx); err != nil {
		return a, err
	}
	if err := endReplay(ctx, tx, c.replayID, now, "done", ""); err != nil {
		return a, err
	}
	if m.state != dlq.Replaying {
		return a, nil
	}
	next := c.was
	switch end.state {
	case Sent:
		next = dlq.Replayed
	case AttemptUnknown:
		next = dlq.Replaying
	default:
		done, err := doneMeanwhile(ctx, tx, c)
		if err != nil {
			return a, err
		}
		if done {
			next = dlq.Resolved
		}
	}
	return a, moveMessage(ctx, tx, c.id, next, now)
}

// doneMeanwhile reports that the attempt of this life that was sent last was
// processed: its report may have come while a later attempt, which sent nothing,
// held the message.
func doneMeanwhile(ctx context.Context, tx pgx.Tx, c claim) (done bool, err error) {
	const sql = `
		SELECT coalesce((
			SELECT outcome = 'processed' FROM attempts
			WHERE message_id = @id AND round = @round AND state = 'sent'
			ORDER BY replay_id DESC
			LIMIT 1), false)`
	err = tx.QueryRow(ctx, sql, pgx.NamedArgs{"id": c.id, "round": c.round}).Scan(&done)
	return done, err
}

func (s *Service) auditEnd(ctx context.Context, tx pgx.Tx, c claim, result string) error {
	return audit.Write(ctx, tx, audit.Entry{
		At: s.now(), Actor: c.request.Actor, From: c.request.From, Act: audit.ActReplay,
		Object: "message " + c.id.String(), OperationID: c.operation(), Reason: c.request.Reason, Result: result,
	})
}

// giveUp records an attempt that sent nothing and returns why.
func (s *Service) giveUp(ctx context.Context, c claim, end ending, why error) (Result, error) {
	result := s.record(ctx, c, end)
	if result.Attempt == Sent {
		return result, nil // somebody knows better: a report or the dead letter
	}
	if errors.Is(why, context.DeadlineExceeded) {
		why = fmt.Errorf("replay: message %s: took too long, nothing was sent: %w", c.id, why)
	}
	return result, why
}

// endReplay closes a replay of one message.
func endReplay(ctx context.Context, tx pgx.Tx, id int64, now time.Time, state, why string) error {
	const sql = `
		UPDATE replays SET state = @state, why_stopped = nullif(@why, ''), ended_at = @now
		WHERE id = @id AND state = 'running'`
	_, err := tx.Exec(ctx, sql, pgx.NamedArgs{"id": id, "state": state, "why": why, "now": now})
	return err
}

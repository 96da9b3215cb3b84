package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// Settle says, on an operator's word, what became of a message whose last
// attempt is unknown: sent, and the outcome is awaited; or not sent, and the
// message is open again. A report or the dead letter can still correct it. It
// returns dlq.ErrNotFound, and ErrNotUnknown where there is nothing to settle.
func (s *Service) Settle(ctx context.Context, messageID string, sent bool, act dlq.Act) error {
	id, err := uuid.Parse(messageID)
	if err != nil {
		return fmt.Errorf("replay: settle: %w", dlq.ErrNotFound)
	}
	var source string
	end := ending{state: Blocked, detail: DetailSettledNot}
	if sent {
		end = ending{state: Sent, detail: DetailSettledSent}
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		m, err := lockMessage(ctx, tx, id)
		if err != nil {
			return err
		}
		source = m.source
		a, err := lockUnknown(ctx, tx, id)
		if err != nil {
			return err
		}
		c := claim{id: id, replayID: a.replayID, round: a.round, was: dlq.Open, source: m.source}
		if _, err := s.end(ctx, tx, c, m, a, end); err != nil {
			return err
		}
		return audit.Write(ctx, tx, audit.Entry{
			At: act.At, Actor: act.Actor, From: act.From, Act: audit.ActSettle, Object: "message " + id.String(),
			OperationID: c.operation(), Reason: act.Reason, Result: end.detail,
		})
	})
	if err != nil {
		return fmt.Errorf("replay: settle message %s: %w", id, err)
	}
	s.metrics.countAttempt(source, end.state)
	return nil
}

// lockUnknown returns the message's unknown attempt, or ErrNotUnknown.
func lockUnknown(ctx context.Context, tx pgx.Tx, id uuid.UUID) (attempt, error) {
	const sql = `SELECT ` + attemptColumns + ` FROM attempts a
		WHERE a.message_id = @id AND a.state = 'unknown'
		ORDER BY a.replay_id DESC
		LIMIT 1
		FOR UPDATE OF a`
	rows, err := tx.Query(ctx, sql, pgx.NamedArgs{"id": id})
	if err != nil {
		return attempt{}, err
	}
	a, err := pgx.CollectExactlyOneRow(rows, scanAttempt)
	if errors.Is(err, pgx.ErrNoRows) {
		return attempt{}, ErrNotUnknown
	}
	return a, err
}

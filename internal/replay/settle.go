package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Bounds of the follower.
const (
	settleBatch = 50
	// maxSettlePause is the longest time between two looks at one attempt.
	maxSettlePause = time.Minute
)

// awaited is one attempt that the follower looks at.
type awaited struct {
	replayID  int64
	messageID uuid.UUID
	key       string
	sentAt    time.Time
	before    []byte
	source    string
}

// settle looks once at the attempts whose turn it is, and returns how many
// there were. Each is looked at by one console at a time: taking an attempt
// moves its next look away.
func (s *Service) settle(ctx context.Context, now time.Time) (int, error) {
	due, err := s.takeAwaited(ctx, now)
	if err != nil {
		return 0, fmt.Errorf("replay: settle: %w", err)
	}
	var errs []error
	for _, a := range due {
		if err := s.settleOne(ctx, a, now); err != nil {
			errs = append(errs, fmt.Errorf("replay: settle message %s: %w", a.messageID, err))
		}
	}
	return len(due), errors.Join(errs...)
}

// takeAwaited returns the attempts that wait longest for a look. The older an
// attempt, the longer until its next one; the last is at its timeout.
func (s *Service) takeAwaited(ctx context.Context, now time.Time) ([]awaited, error) {
	const sql = `
		WITH due AS (
			SELECT a.replay_id, a.message_id
			FROM attempts a
			WHERE a.outcome = 'awaited' AND a.settle_after <= @now
			ORDER BY a.settle_after
			LIMIT @limit
			FOR UPDATE SKIP LOCKED
		)
		UPDATE attempts a
		SET settle_after = least(
			@now::timestamptz + least(greatest((@now - a.sent_at) / 4, @least::interval), @most::interval),
			greatest(a.sent_at + @timeout::interval, @now + @least))
		FROM due, dead_letters m
		WHERE a.replay_id = due.replay_id AND a.message_id = due.message_id AND m.id = a.message_id
		RETURNING a.replay_id, a.message_id, coalesce(a.business_key, ''), a.sent_at, a.evidence_before, m.source`
	rows, err := s.pool.Query(ctx, sql, pgx.NamedArgs{
		"now": now, "limit": settleBatch, "least": s.every, "most": maxSettlePause, "timeout": s.timeout,
	})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (awaited, error) {
		var a awaited
		err := row.Scan(&a.replayID, &a.messageID, &a.key, &a.sentAt, &a.before, &a.source)
		return a, err
	})
}

// settleOne looks for signs of one attempt's outcome and saves what it finds.
// Whom it asks may be down: then there is no sign, and the timeout comes.
func (s *Service) settleOne(ctx context.Context, a awaited, now time.Time) error {
	var before snapshot
	if len(a.before) > 0 {
		if err := json.Unmarshal(a.before, &before); err != nil {
			return fmt.Errorf("read evidence: %w", err)
		}
	}
	e := s.gather(ctx, s.plans[a.source], a.key, nil, now)
	f, found := judge(before, e, a.sentAt)
	if !found && now.Sub(a.sentAt) >= s.timeout {
		f, found = finding{outcome: Unconfirmed, source: FromTimeout, detail: DetailTimeout, at: now}, true
	}
	if !found {
		return nil
	}
	var l learned
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		l, err = s.learn(ctx, tx, a.replayID, a.messageID, f)
		return err
	})
	if err != nil {
		return err
	}
	s.count(l)
	return nil
}

package dlq

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// lineColumns read lives as scanLine scans them.
const lineColumns = `
	SELECT message_id::text, round, drained_at, died_at, died_at_known, first_died_at,
		exchange, routing_key, redelivered, body_size, body_sha256, reason,
		coalesce(failure_type, ''), coalesce(failure_message, ''), coalesce(extractor, ''),
		retry_count, coalesce(retry_count_source, ''), coalesce(original_queue, ''), coalesce(replay_id, 0)`

const lineSelect = lineColumns + ` FROM lives WHERE message_id = @id`

func scanLine(row pgx.CollectableRow) (Life, error) {
	var l Life
	var firstDied *time.Time
	err := row.Scan(
		&l.MessageID, &l.Round, &l.DrainedAt, &l.DiedAt, &l.DiedAtKnown, &firstDied,
		&l.Exchange, &l.RoutingKey, &l.Redelivered, &l.BodySize, &l.BodySHA256, &l.Reason,
		&l.Failure.Type, &l.Failure.Message, &l.Failure.Extractor,
		&l.RetryCount, &l.RetryCountSource, &l.Original.Queue, &l.ReplayID,
	)
	l.DrainedAt, l.DiedAt, l.FirstDiedAt = l.DrainedAt.UTC(), l.DiedAt.UTC(), timeOr(firstDied)
	return l, err
}

const (
	linesBefore = lineSelect + ` AND round < @round::integer ORDER BY round DESC LIMIT @limit`
	linesAfter  = lineSelect + ` AND round > @round::integer ORDER BY round LIMIT @limit`
	// What a replay sent comes back soon after, in the order of rounds.
	lineOf = `WITH next AS MATERIALIZED (SELECT * FROM lives WHERE message_id = @id AND round > @round::integer ORDER BY round LIMIT 100)
		` + lineColumns + ` FROM next WHERE replay_id = @replay ORDER BY round LIMIT 1`
)

// LivesBefore returns at most limit lives of a message, the newest first: those
// before a round, or from the newest where it is 0. They come without headers,
// properties and stack, which Life has. There are as many lives as the
// message's round says.
func (s *Store) LivesBefore(ctx context.Context, id string, round, limit int) ([]Life, error) {
	if round <= 0 {
		round = maxRound
	}
	return s.lines(ctx, linesBefore, id, pgx.NamedArgs{"round": round, "limit": limit})
}

// LivesAfter is LivesBefore in the order in which they died: those after a
// round.
func (s *Store) LivesAfter(ctx context.Context, id string, round, limit int) ([]Life, error) {
	return s.lines(ctx, linesAfter, id, pgx.NamedArgs{"round": round, "limit": limit})
}

// maxRound is greater than every round.
const maxRound = 1<<31 - 1

// LifeOfReplay returns the life that came back from a replay which had sent the
// given round, in the manner of LivesBefore, or ErrNotFound.
func (s *Store) LifeOfReplay(ctx context.Context, id string, replay int64, sent int) (Life, error) {
	lives, err := s.lines(ctx, lineOf, id, pgx.NamedArgs{"round": sent, "replay": replay})
	if err == nil && len(lives) == 0 {
		err = fmt.Errorf("dlq: read life of replay %d: %w", replay, ErrNotFound)
	}
	if err != nil {
		return Life{}, err
	}
	return lives[0], nil
}

func (s *Store) lines(ctx context.Context, sql, id string, args pgx.NamedArgs) ([]Life, error) {
	key, err := uuid.Parse(id)
	if err != nil {
		return nil, fmt.Errorf("dlq: read lives of %q: %w", cut(id, 64), ErrNotFound)
	}
	args["id"] = key
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("dlq: read lives of %s: %w", key, err)
	}
	lives, err := pgx.CollectRows(rows, scanLine)
	if err != nil {
		return nil, fmt.Errorf("dlq: read lives of %s: %w", key, err)
	}
	return lives, nil
}

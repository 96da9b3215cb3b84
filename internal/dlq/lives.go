package dlq

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// lifeSelect reads lives l as scanLife scans them.
const lifeSelect = `
	SELECT l.message_id::text, l.round, l.drained_at, l.died_at, l.died_at_known, l.first_died_at,
		l.exchange, l.routing_key, l.redelivered, l.properties, l.headers,
		l.body_size, l.body_sha256, l.reason,
		coalesce(l.failure_type, ''), coalesce(l.failure_message, ''), coalesce(l.failure_stack, ''),
		coalesce(l.extractor, ''), l.retry_count, coalesce(l.retry_count_source, ''),
		coalesce(l.original_queue, ''), coalesce(l.replay_id, 0), m.quarantine IS NOT NULL
	FROM lives l JOIN dead_letters m ON m.id = l.message_id`

func scanLife(row pgx.CollectableRow) (Life, error) {
	var l Life
	var firstDied *time.Time
	var properties, headers []byte
	var quarantined bool
	err := row.Scan(
		&l.MessageID, &l.Round, &l.DrainedAt, &l.DiedAt, &l.DiedAtKnown, &firstDied,
		&l.Exchange, &l.RoutingKey, &l.Redelivered, &properties, &headers,
		&l.BodySize, &l.BodySHA256, &l.Reason,
		&l.Failure.Type, &l.Failure.Message, &l.Failure.Stack,
		&l.Failure.Extractor, &l.RetryCount, &l.RetryCountSource,
		&l.Original.Queue, &l.ReplayID, &quarantined,
	)
	if err != nil {
		return Life{}, err
	}
	l.DrainedAt, l.DiedAt, l.FirstDiedAt = l.DrainedAt.UTC(), l.DiedAt.UTC(), timeOr(firstDied)
	// What is in quarantine may have headers that cannot be read. It is not
	// replayed, so that nothing is sent without them.
	if l.Properties, err = rabbit.DecodeProperties(properties); err != nil && !quarantined {
		return Life{}, err
	}
	if l.Headers, err = rabbit.DecodeHeaders(headers); err != nil && !quarantined {
		return Life{}, err
	}
	l.RawHeaders = headers
	l.readAgain()
	return l, nil
}

// readAgain completes the origin of a life from its headers, since only the
// queue is stored for each life, and reads which of its times cannot be.
func (l *Life) readAgain() {
	again := Extract(rabbit.Delivery{Headers: l.Headers}, Source{}, l.DrainedAt)
	l.ClockSaid = again.ClockSaid
	if again.Original.Queue != l.Original.Queue {
		fixed := Source{OriginalQueue: l.Original.Queue}
		again = Extract(rabbit.Delivery{Headers: l.Headers}, fixed, l.DrainedAt)
	}
	l.Original = again.Original
}

const lifeSQL = lifeSelect + ` WHERE m.id = @id AND l.round = CASE WHEN @round::integer = 0 THEN m.round ELSE @round END`

// Life returns one life of a message, round 0 being the current one, or
// ErrNotFound.
func (s *Store) Life(ctx context.Context, id string, round int) (Life, error) {
	lives, err := s.readLives(ctx, lifeSQL, id, pgx.NamedArgs{"round": round})
	if err != nil {
		return Life{}, fmt.Errorf("dlq: read life %d of %q: %w", round, cut(id, 64), err)
	}
	return lives[0], nil
}

// readLives returns at least one life, or an error.
func (s *Store) readLives(ctx context.Context, sql, id string, args pgx.NamedArgs) ([]Life, error) {
	key, err := uuid.Parse(id)
	if err != nil {
		return nil, ErrNotFound
	}
	args["id"] = key
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	lives, err := pgx.CollectRows(rows, scanLife)
	if err == nil && len(lives) == 0 {
		err = ErrNotFound
	}
	return lives, err
}

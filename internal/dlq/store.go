package dlq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Store finds and changes the dead letters of one database.
type Store struct {
	pool   *pgxpool.Pool
	counts dear[map[string]SourceFigures]
}

// NewStore returns the store kept in pool's schema.
func NewStore(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// messageColumns are what scanMessage reads, of dead_letters as m.
const messageColumns = `
	m.id::text, m.source, m.state, m.state_changed_at, m.round, m.possible_copy, coalesce(m.quarantine, ''),
	coalesce(m.claimed_by, ''), m.claimed_until,
	coalesce(m.business_key, ''), m.reason, coalesce(m.failure_type, ''), coalesce(m.failure_message, ''),
	coalesce(m.extractor, ''), m.retry_count, coalesce(m.retry_count_source, ''),
	coalesce(m.original_queue, ''), m.original_exchange, m.original_routing_key, coalesce(m.original_evidence, ''),
	m.first_died_at, m.died_at, m.first_drained_at, m.drained_at,
	coalesce(m.content_type, ''), coalesce(m.content_encoding, ''), m.body_size, m.body_sha256,
	coalesce(m.body_preview, ''), m.body_preview IS NOT NULL`

func scanMessage(row pgx.CollectableRow) (Message, error) {
	var m Message
	var claimedUntil, firstDied *time.Time
	err := row.Scan(
		&m.ID, &m.Source, &m.State, &m.StateSince, &m.Round, &m.PossibleCopy, &m.Quarantine,
		&m.ClaimedBy, &claimedUntil,
		&m.BusinessKey, &m.Reason, &m.Failure.Type, &m.Failure.Message,
		&m.Failure.Extractor, &m.RetryCount, &m.RetryCountSource,
		&m.Original.Queue, &m.Original.Exchange, &m.Original.RoutingKey, &m.Original.Evidence,
		&firstDied, &m.DiedAt, &m.FirstDrainedAt, &m.DrainedAt,
		&m.ContentType, &m.ContentEncoding, &m.BodySize, &m.BodySHA256,
		&m.BodyPreview, &m.BodyIsText,
	)
	m.ClaimedUntil, m.FirstDiedAt = timeOr(claimedUntil), timeOr(firstDied)
	m.StateSince, m.DiedAt = m.StateSince.UTC(), m.DiedAt.UTC()
	m.FirstDrainedAt, m.DrainedAt = m.FirstDrainedAt.UTC(), m.DrainedAt.UTC()
	return m, err
}

// timeOr returns *t in UTC, or the zero time for NULL.
func timeOr(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// Message returns one dead letter, or ErrNotFound, also where id is none.
func (s *Store) Message(ctx context.Context, id string) (Message, error) {
	key, err := uuid.Parse(id)
	if err != nil {
		return Message{}, fmt.Errorf("dlq: read message %q: %w", cut(id, 64), ErrNotFound)
	}
	const sql = `SELECT ` + messageColumns + ` FROM dead_letters m WHERE m.id = $1`
	rows, err := s.pool.Query(ctx, sql, key)
	if err != nil {
		return Message{}, fmt.Errorf("dlq: read message %s: %w", key, err)
	}
	m, err := pgx.CollectExactlyOneRow(rows, scanMessage)
	if err != nil {
		return Message{}, fmt.Errorf("dlq: read message %s: %w", key, orNotFound(err))
	}
	return m, nil
}

func orNotFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

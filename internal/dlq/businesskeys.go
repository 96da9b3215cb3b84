package dlq

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// maxNamed bounds how many messages one business key is looked up to.
const maxNamed = 100

// BusinessKeys returns the business keys of those of the given messages, at
// most 500, that are there and have one; ids that are malformed are left out.
func (s *Store) BusinessKeys(ctx context.Context, ids []string) (map[string]string, error) {
	asked := []uuid.UUID{}
	for _, id := range ids[:min(len(ids), maxPage)] {
		if key, err := uuid.Parse(id); err == nil {
			asked = append(asked, key)
		}
	}
	found := map[string]string{}
	if len(asked) == 0 {
		return found, nil
	}
	const sql = `SELECT id::text, business_key FROM dead_letters WHERE id = ANY (@ids) AND business_key IS NOT NULL`
	rows, err := s.pool.Query(ctx, sql, pgx.NamedArgs{"ids": asked})
	if err != nil {
		return nil, fmt.Errorf("dlq: read business keys: %w", err)
	}
	var id, key string
	_, err = pgx.ForEachRow(rows, []any{&id, &key}, func() error {
		found[id] = key
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("dlq: read business keys: %w", err)
	}
	return found, nil
}

// IDsOf returns the messages with a business key, the newest deaths first, at
// most 100.
func (s *Store) IDsOf(ctx context.Context, businessKey string) ([]string, error) {
	const sql = `
		SELECT id::text FROM dead_letters
		WHERE business_key = @key::text
		ORDER BY died_at DESC
		LIMIT @limit`
	rows, err := s.pool.Query(ctx, sql, pgx.NamedArgs{"key": displayable(businessKey), "limit": maxNamed})
	if err != nil {
		return nil, fmt.Errorf("dlq: find messages of a business key: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("dlq: find messages of a business key: %w", err)
	}
	return ids, nil
}

package dlq

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// BodyFacts is which body of a message is meant, and how large it is.
type BodyFacts struct {
	Round  int // of the life whose body it is
	Size   int64
	SHA256 []byte
}

const bodyFactsSQL = `
	SELECT l.round, l.body_size, l.body_sha256 FROM lives l JOIN dead_letters m ON m.id = l.message_id
	WHERE m.id = @id AND l.round = CASE WHEN @round::integer = 0 THEN m.round ELSE @round END`

// BodyFacts returns the facts of one life's body, round 0 being the current
// life, or ErrNotFound. The body of a round never changes.
func (s *Store) BodyFacts(ctx context.Context, id string, round int) (BodyFacts, error) {
	key, err := uuid.Parse(id)
	if err != nil {
		return BodyFacts{}, fmt.Errorf("dlq: read body of %q: %w", cut(id, 64), ErrNotFound)
	}
	var b BodyFacts
	err = s.pool.QueryRow(ctx, bodyFactsSQL, pgx.NamedArgs{"id": key, "round": round}).Scan(&b.Round, &b.Size, &b.SHA256)
	if err != nil {
		return BodyFacts{}, fmt.Errorf("dlq: read body of %s: %w", key, orNotFound(err))
	}
	return b, nil
}

// BodyPart returns the bytes of the body of one round from offset on, at most
// the given number and fewer at its end, or ErrNotFound. It reads no more of
// the body than that: bodies are stored uncompressed for it.
func (s *Store) BodyPart(ctx context.Context, id string, round int, offset int64, most int) ([]byte, error) {
	key, err := uuid.Parse(id)
	if err != nil {
		return nil, fmt.Errorf("dlq: read body of %q: %w", cut(id, 64), ErrNotFound)
	}
	const sql = `SELECT substring(body FROM @from::integer FOR @most::integer) FROM lives WHERE message_id = @id AND round = @round`
	var part []byte
	args := pgx.NamedArgs{"id": key, "round": round, "from": offset + 1, "most": most}
	if err := s.pool.QueryRow(ctx, sql, args).Scan(&part); err != nil {
		return nil, fmt.Errorf("dlq: read body of %s: %w", key, orNotFound(err))
	}
	return part, nil
}

// Body returns the exact bytes of one life, round 0 being the current one, or
// ErrNotFound.
func (s *Store) Body(ctx context.Context, id string, round int) ([]byte, error) {
	key, err := uuid.Parse(id)
	if err != nil {
		return nil, fmt.Errorf("dlq: read body of %q: %w", cut(id, 64), ErrNotFound)
	}
	const sql = `
		SELECT l.body FROM lives l JOIN dead_letters m ON m.id = l.message_id
		WHERE m.id = @id AND l.round = CASE WHEN @round::integer = 0 THEN m.round ELSE @round END`
	var body []byte
	if err := s.pool.QueryRow(ctx, sql, pgx.NamedArgs{"id": key, "round": round}).Scan(&body); err != nil {
		return nil, fmt.Errorf("dlq: read body of %s: %w", key, orNotFound(err))
	}
	return body, nil
}

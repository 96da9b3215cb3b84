package dlq

import (
	"context"
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Count is a number of matches: exact up to 10,000, else "at least N".
type Count struct {
	N     int64
	Exact bool
}

// Page is one page of a list, newest death first.
type Page struct {
	Messages []Message
	Next     string // the Cursor of the next page; "" on the last
	Total    Count  // of all pages
	// Bounded says that only the deaths of the last 24 hours were searched:
	// the text is too short for the index.
	Bounded bool
}

// List returns one page of the messages that f selects, newest death first. It
// returns ErrBadCursor where f.Cursor is not one that a page handed out.
func (s *Store) List(ctx context.Context, f Filter) (Page, error) {
	where, args, err := s.condition(ctx, f)
	if err != nil {
		return Page{}, fmt.Errorf("dlq: list messages: %w", err)
	}
	limit := f.limit()
	args["limit"] = limit + 1
	rows, err := s.pool.Query(ctx, listSQL(where), planned, args)
	if err != nil {
		return Page{}, fmt.Errorf("dlq: list messages: %w", err)
	}
	page := Page{Bounded: f.bounded()}
	if page.Messages, err = pgx.CollectRows(rows, scanMessage); err != nil {
		return Page{}, fmt.Errorf("dlq: list messages: %w", err)
	}
	if len(page.Messages) > limit {
		page.Messages = page.Messages[:limit]
		page.Next = placeOf(page.Messages[limit-1]).String()
	}
	if page.Total, err = s.count(ctx, where, args); err != nil {
		return Page{}, fmt.Errorf("dlq: count messages: %w", err)
	}
	return page, nil
}

func listSQL(where string) string {
	return `SELECT ` + messageColumns + ` FROM dead_letters m WHERE ` + where + `
	ORDER BY m.died_at DESC, m.id DESC LIMIT @limit`
}

// countSQL reads in the order of the list, so that it is planned like it.
func countSQL(where string) string {
	return `SELECT count(*) FROM (SELECT 1 FROM dead_letters m WHERE ` + where + `
	ORDER BY m.died_at DESC, m.id DESC LIMIT @limit) AS matching`
}

// count counts what args select on all pages.
func (s *Store) count(ctx context.Context, where string, args pgx.NamedArgs) (Count, error) {
	args = maps.Clone(args)
	args["after_died"], args["limit"] = nil, maxExact+1
	var n int64
	if err := s.pool.QueryRow(ctx, countSQL(where), planned, args).Scan(&n); err != nil {
		return Count{}, err
	}
	return Count{N: min(n, maxExact), Exact: n <= maxExact}, nil
}

func placeOf(m Message) cursor {
	// The id came from a uuid column.
	return cursor{diedAt: m.DiedAt, id: uuid.MustParse(m.ID)}
}

// Neighbours returns the ids of the messages just before and just after m in
// the list that f selects, whatever f.Cursor says; "" where there is none. m
// itself need not be selected.
func (s *Store) Neighbours(ctx context.Context, f Filter, m Message) (newer, older string, err error) {
	key, err := uuid.Parse(m.ID)
	if err != nil {
		return "", "", fmt.Errorf("dlq: neighbours: %w", ErrNotFound)
	}
	f.Cursor = ""
	where, args, err := s.condition(ctx, f)
	if err != nil {
		return "", "", fmt.Errorf("dlq: neighbours of %s: %w", key, err)
	}
	args["died"], args["id"] = m.DiedAt, key
	sql := `SELECT
		coalesce((SELECT m.id::text FROM dead_letters m
			WHERE (m.died_at, m.id) > (@died::timestamptz, @id::uuid) AND ` + where + `
			ORDER BY m.died_at, m.id LIMIT 1), ''),
		coalesce((SELECT m.id::text FROM dead_letters m
			WHERE (m.died_at, m.id) < (@died::timestamptz, @id::uuid) AND ` + where + `
			ORDER BY m.died_at DESC, m.id DESC LIMIT 1), '')`
	if err := s.pool.QueryRow(ctx, sql, planned, args).Scan(&newer, &older); err != nil {
		return "", "", fmt.Errorf("dlq: neighbours of %s: %w", key, err)
	}
	return newer, older, nil
}

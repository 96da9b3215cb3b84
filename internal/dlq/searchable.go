package dlq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// searchEvery is how often the makers of search text look for work.
	searchEvery = 250 * time.Millisecond
	// searchLag is how long search text may wait for the drain to pause: it
	// competes with the drain for the same processors.
	searchLag = time.Minute
	// searchQuiet is how long the drain must have paused.
	searchQuiet = 400 * time.Millisecond
	// windowsKept is how long a window is kept that is acked and searchable.
	windowsKept = 30 * 24 * time.Hour
	// searchBatch is how many bodies are read at a time; searchStart is how much
	// of each.
	searchBatch = 200
	searchStart = maxBodyText + 4
)

// firstUnsearched returns an id that none of the messages without search text
// is before: the ids of new messages sort by time.
func firstUnsearched(ctx context.Context, db querier) (uuid.UUID, error) {
	var since *time.Time
	const sql = `SELECT drained_at FROM windows WHERE NOT searchable ORDER BY drained_at LIMIT 1`
	if err := db.QueryRow(ctx, sql).Scan(&since); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, fmt.Errorf("dlq: find what has no search text yet: %w", err)
	}
	if since == nil {
		return uuid.Max, nil
	}
	return firstIDAt(since.Add(-time.Second)), nil
}

// firstIDAt returns the smallest id that newID gives at t (RFC 9562, version 7).
func firstIDAt(t time.Time) uuid.UUID {
	var id uuid.UUID
	ms := t.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i)) //nolint:gosec // the bytes of a number
	}
	return id
}

// SearchText makes what was drained searchable by its text, right after the
// drain. Several consoles share the work.
type SearchText struct {
	pool *pgxpool.Pool
	busy func() bool
	log  *slog.Logger
}

// NewSearchText returns a maker of search text that does nothing until Run.
// busy says whether this process drains something right now; of others their
// windows tell.
func NewSearchText(pool *pgxpool.Pool, busy func() bool, log *slog.Logger) *SearchText {
	return &SearchText{pool: pool, busy: busy, log: log}
}

// Run makes search text until ctx ends, and then returns nil.
func (s *SearchText) Run(ctx context.Context) error {
	var pace backoff
	var pruned time.Time
	for {
		wait := searchEvery
		if err := s.catchUp(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "search text is late", "err", err)
			wait = pace.next(time.Second, time.Minute)
		} else {
			pace.reset()
		}
		if time.Since(pruned) > time.Hour {
			pruned = time.Now()
			if err := s.prune(ctx, pruned); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "old windows are still there", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// prune forgets windows that tell nothing any more.
func (s *SearchText) prune(ctx context.Context, now time.Time) error {
	const sql = `
		DELETE FROM windows WHERE id IN (
			SELECT id FROM windows WHERE outstanding = 0 AND searchable AND drained_at < $1 LIMIT 1000)`
	for {
		gone, err := s.pool.Exec(ctx, sql, now.Add(-windowsKept))
		if err != nil {
			return fmt.Errorf("dlq: forget old windows: %w", err)
		}
		if gone.RowsAffected() < 1000 {
			return nil
		}
	}
}

// catchUp works off windows, the oldest first, until none is left or the drain
// is at work.
func (s *SearchText) catchUp(ctx context.Context) error {
	for {
		more, err := s.window(ctx, time.Now())
		if err != nil || !more {
			return err
		}
	}
}

// window makes one window searchable, and says whether there was one to do.
func (s *SearchText) window(ctx context.Context, now time.Time) (done bool, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		const sql = `
			SELECT id, message_ids FROM windows
			WHERE NOT searchable AND outstanding = 0 AND (drained_at < @late::timestamptz
				OR NOT EXISTS (SELECT FROM windows WHERE NOT searchable AND drained_at > @busy::timestamptz))
			ORDER BY drained_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`
		var id uuid.UUID
		var ids []byte
		args := pgx.NamedArgs{"late": now.Add(-searchLag), "busy": now.Add(-searchQuiet)}
		if s.busy() {
			args["busy"] = time.Unix(0, 0)
		}
		if err := tx.QueryRow(ctx, sql, args).Scan(&id, &ids); err != nil {
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		}
		for _, part := range parted(ids, searchBatch) {
			if err := writeSearchText(ctx, tx, part); err != nil {
				return err
			}
		}
		done = true
		_, err := tx.Exec(ctx, `UPDATE windows SET searchable = true WHERE id = $1`, id)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("dlq: make search text: %w", err)
	}
	return done, nil
}

// parted cuts ids, 16 bytes each, into parts of at most n.
func parted(ids []byte, n int) [][]uuid.UUID {
	var parts [][]uuid.UUID
	var part []uuid.UUID
	for ; len(ids) >= idSize; ids = ids[idSize:] {
		if part = append(part, uuid.UUID(ids[:idSize])); len(part) == n {
			parts, part = append(parts, part), nil
		}
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	return parts
}

// writeSearchText makes the current lives of messages searchable; those whose
// body is no text have none.
func writeSearchText(ctx context.Context, tx pgx.Tx, ids []uuid.UUID) error {
	const read = `
		SELECT m.id, substring(l.body FROM 1 FOR $2) FROM dead_letters m
		JOIN lives l ON l.message_id = m.id AND l.round = m.round
		WHERE m.id = ANY ($1) AND l.body_is_text AND l.body_size > 0`
	var id uuid.UUID
	var body []byte
	found, texts := []uuid.UUID{}, []string{}
	err := eachRow(ctx, tx, read, []any{ids, searchStart}, []any{&id, &body}, func() {
		found, texts = append(found, id), append(texts, searchTextOf(body))
	})
	if err != nil {
		return err
	}
	const forget = `DELETE FROM body_texts WHERE message_id = ANY ($1) AND message_id <> ALL ($2)`
	if _, err := tx.Exec(ctx, forget, ids, found); err != nil || len(found) == 0 {
		return err
	}
	const write = `
		INSERT INTO body_texts (message_id, text) SELECT * FROM unnest($1::uuid[], $2::text[])
		ON CONFLICT (message_id) DO UPDATE SET text = excluded.text`
	_, err = tx.Exec(ctx, write, found, texts)
	return err
}

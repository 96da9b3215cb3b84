package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// maxPage bounds a page of replays or of their messages.
const maxPage = 500

// Summary is one replay with what became of its messages.
type Summary struct {
	ID         int64
	State      string // running, paused, done, cancelled or stopped
	WhyStopped string
	Query      string // of the selection; "" where it was made of ids
	Actor      string
	Reason     string
	CreatedAt  time.Time
	EndedAt    time.Time // zero while it runs
	Total      int
	Attempts   map[AttemptState]int
	Outcomes   map[Outcome]int
	First      Item // the message of a replay of one
}

const summaryColumns = `
	r.id, r.state, coalesce(r.why_stopped, ''), coalesce(r.query, ''), r.actor, r.reason, r.created_at, r.ended_at, r.total`

func scanSummary(row pgx.CollectableRow) (Summary, error) {
	r := Summary{Attempts: map[AttemptState]int{}, Outcomes: map[Outcome]int{}}
	var ended *time.Time
	err := row.Scan(&r.ID, &r.State, &r.WhyStopped, &r.Query, &r.Actor, &r.Reason, &r.CreatedAt, &ended, &r.Total)
	r.CreatedAt, r.EndedAt = r.CreatedAt.UTC(), timeOr(ended)
	return r, err
}

// timeOr returns *t in UTC, or the zero time for NULL.
func timeOr(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// List returns the replays, the newest first, those before the given id (0:
// all), and the id to go on before; 0 on the last page.
func (s *Service) List(ctx context.Context, before int64, limit int) ([]Summary, int64, error) {
	limit = min(max(limit, 1), maxPage)
	const sql = `SELECT ` + summaryColumns + ` FROM replays r
		WHERE @before::bigint = 0 OR r.id < @before
		ORDER BY r.id DESC
		LIMIT @limit`
	rows, err := s.pool.Query(ctx, sql, pgx.NamedArgs{"before": before, "limit": limit + 1})
	if err != nil {
		return nil, 0, fmt.Errorf("replay: list: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanSummary)
	if err != nil {
		return nil, 0, fmt.Errorf("replay: list: %w", err)
	}
	var next int64
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].ID
	}
	if err := s.fill(ctx, list); err != nil {
		return nil, 0, fmt.Errorf("replay: list: %w", err)
	}
	return list, next, nil
}

// Replayed returns one replay, or dlq.ErrNotFound.
func (s *Service) Replayed(ctx context.Context, id int64) (Summary, error) {
	const sql = `SELECT ` + summaryColumns + ` FROM replays r WHERE r.id = @id`
	rows, err := s.pool.Query(ctx, sql, pgx.NamedArgs{"id": id})
	if err != nil {
		return Summary{}, fmt.Errorf("replay: read replay %d: %w", id, err)
	}
	one, err := pgx.CollectExactlyOneRow(rows, scanSummary)
	if errors.Is(err, pgx.ErrNoRows) {
		err = dlq.ErrNotFound
	}
	if err != nil {
		return Summary{}, fmt.Errorf("replay: read replay %d: %w", id, err)
	}
	list := []Summary{one}
	if err := s.fill(ctx, list); err != nil {
		return Summary{}, fmt.Errorf("replay: read replay %d: %w", id, err)
	}
	return list[0], nil
}

// fill counts what became of each replay's messages, and adds the message of
// those that have one.
func (s *Service) fill(ctx context.Context, list []Summary) error {
	at := map[int64]int{}
	ids := make([]int64, len(list))
	for i, r := range list {
		at[r.ID], ids[i] = i, r.ID
	}
	const counts = `
		SELECT replay_id, state, coalesce(outcome, ''), count(*)
		FROM attempts WHERE replay_id = ANY (@ids)
		GROUP BY 1, 2, 3`
	rows, err := s.pool.Query(ctx, counts, pgx.NamedArgs{"ids": ids})
	if err != nil {
		return err
	}
	var id int64
	var state AttemptState
	var outcome Outcome
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&id, &state, &outcome, &n}, func() error {
		r := &list[at[id]]
		r.Attempts[state] += n
		if outcome != "" {
			r.Outcomes[outcome] += n
		}
		return nil
	}); err != nil {
		return err
	}
	return s.fillFirst(ctx, list, at, ids)
}

func (s *Service) fillFirst(ctx context.Context, list []Summary, at map[int64]int, ids []int64) error {
	const sql = `SELECT ` + itemColumns + `
		FROM attempts a JOIN replays r ON r.id = a.replay_id
		WHERE a.replay_id = ANY (@ids) AND r.total = 1`
	rows, err := s.pool.Query(ctx, sql, pgx.NamedArgs{"ids": ids})
	if err != nil {
		return err
	}
	items, err := pgx.CollectRows(rows, scanItem)
	if err != nil {
		return err
	}
	for _, i := range items {
		list[at[i.ReplayID]].First = i
	}
	return nil
}

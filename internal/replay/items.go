package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// Item is one message of a replay.
type Item struct {
	ReplayID      int64
	MessageID     string
	Round         int // the life that was sent
	BusinessKey   string
	Verdict       Verdict
	Override      []Verdict
	Attempt       AttemptState
	Outcome       Outcome       // "" unless sent
	OutcomeSource OutcomeSource // "" while awaited
	Detail        string
	Route         Route // "": it did not get so far
	ToExchange    string
	ToRoutingKey  string
	ToQueue       string
	ClaimedAt     time.Time
	SentAt        time.Time
	SettledAt     time.Time
	Evidence      json.RawMessage // {"guards":[…],"unacked":…,"at":…}: what each guard said just before
	Released      json.RawMessage // [{"key","space","result","before"}]; nil: none
}

const itemColumns = `
	a.replay_id, a.message_id::text, a.round, coalesce(a.business_key, ''), a.verdict, a.override, a.state,
	coalesce(a.outcome, ''), coalesce(a.outcome_source, ''), coalesce(a.detail, ''), coalesce(a.route, ''),
	coalesce(a.to_exchange, ''), coalesce(a.to_routing_key, ''), coalesce(a.to_queue, ''),
	a.claimed_at, a.sent_at, a.settled_at, a.evidence_before, a.released`

func scanItem(row pgx.CollectableRow) (Item, error) {
	var i Item
	var sent, settled *time.Time
	err := row.Scan(&i.ReplayID, &i.MessageID, &i.Round, &i.BusinessKey, &i.Verdict, &i.Override, &i.Attempt,
		&i.Outcome, &i.OutcomeSource, &i.Detail, &i.Route,
		&i.ToExchange, &i.ToRoutingKey, &i.ToQueue,
		&i.ClaimedAt, &sent, &settled, &i.Evidence, &i.Released)
	i.ClaimedAt, i.SentAt, i.SettledAt = i.ClaimedAt.UTC(), timeOr(sent), timeOr(settled)
	return i, err
}

// Items returns the messages of a replay by id, those after the given one ("":
// from the start), and the id to go on after; "" on the last page.
func (s *Service) Items(ctx context.Context, id int64, after string, limit int) ([]Item, string, error) {
	limit = min(max(limit, 1), maxPage)
	start := uuid.Nil
	if after != "" {
		var err error
		if start, err = uuid.Parse(after); err != nil {
			return nil, "", fmt.Errorf("replay: list items: %w", dlq.ErrBadCursor)
		}
	}
	const sql = `SELECT ` + itemColumns + ` FROM attempts a
		WHERE a.replay_id = @id AND a.message_id > @after
		ORDER BY a.message_id
		LIMIT @limit`
	items, err := s.items(ctx, sql, pgx.NamedArgs{"id": id, "after": start, "limit": limit + 1})
	if err != nil {
		return nil, "", fmt.Errorf("replay: list items of %d: %w", id, err)
	}
	if len(items) <= limit {
		return items, "", nil
	}
	return items[:limit], items[limit-1].MessageID, nil
}

const (
	attemptsBefore = `SELECT ` + itemColumns + ` FROM attempts a
		WHERE a.message_id = @id AND a.replay_id < @replay::bigint ORDER BY a.replay_id DESC LIMIT @limit`
	attemptsAfter = `SELECT ` + itemColumns + ` FROM attempts a
		WHERE a.message_id = @id AND a.replay_id > @replay::bigint ORDER BY a.replay_id LIMIT @limit`
)

// Attempts returns at most limit attempts to replay a message, the newest
// first: those before a replay, or from the newest where it is 0. There are
// none where there is no such message.
func (s *Service) Attempts(ctx context.Context, messageID string, before int64, limit int) ([]Item, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	return s.attempts(ctx, attemptsBefore, messageID, before, limit)
}

// AttemptsAfter is Attempts in the order in which they were made: those after a
// replay.
func (s *Service) AttemptsAfter(ctx context.Context, messageID string, after int64, limit int) ([]Item, error) {
	return s.attempts(ctx, attemptsAfter, messageID, after, limit)
}

func (s *Service) attempts(ctx context.Context, sql, messageID string, replay int64, limit int) ([]Item, error) {
	id, err := uuid.Parse(messageID)
	if err != nil {
		return nil, fmt.Errorf("replay: list attempts: %w", dlq.ErrNotFound)
	}
	items, err := s.items(ctx, sql, pgx.NamedArgs{"id": id, "replay": replay, "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("replay: list attempts of %s: %w", id, err)
	}
	return items, nil
}

func (s *Service) items(ctx context.Context, sql string, args pgx.NamedArgs) ([]Item, error) {
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanItem)
}

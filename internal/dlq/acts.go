package dlq

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
)

// Discard takes open messages out of the way; they are kept and can be
// restored. Each message is judged on its own: one in any other state is left
// alone and answers ResultBadState. What is done and its audit entries are one
// transaction; an error means that nothing was done.
func (s *Store) Discard(ctx context.Context, ids []string, a Act) ([]ActResult, error) {
	return s.move(ctx, ids, step{audit.ActDiscard, Open, Discarded}, a)
}

// Restore opens discarded messages again, in the manner of Discard.
func (s *Store) Restore(ctx context.Context, ids []string, a Act) ([]ActResult, error) {
	return s.move(ctx, ids, step{audit.ActRestore, Discarded, Open}, a)
}

// step is a change of state that an operator may ask for.
type step struct {
	act      string
	from, to State
}

func (s *Store) move(ctx context.Context, ids []string, st step, a Act) ([]ActResult, error) {
	var results []ActResult
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		states, err := lockStates(ctx, tx, ids)
		if err != nil {
			return err
		}
		var moving []uuid.UUID
		results, moving = judge(ids, states, st)
		const sql = `UPDATE dead_letters SET state = @to, state_changed_at = @at WHERE id = ANY (@ids)`
		if _, err := tx.Exec(ctx, sql, pgx.NamedArgs{"to": st.to, "at": a.At, "ids": moving}); err != nil {
			return err
		}
		return writeAudit(ctx, tx, results, st.act, a)
	})
	if err != nil {
		return nil, fmt.Errorf("dlq: %s: %w", st.act, err)
	}
	return results, nil
}

// judge says what becomes of each id, in the order of ids and once where an id
// comes twice, and which ones change their state.
func judge(ids []string, states map[uuid.UUID]State, st step) ([]ActResult, []uuid.UUID) {
	var results []ActResult
	moving := []uuid.UUID{}
	for id, key := range distinct(ids) {
		state, known := states[key]
		switch {
		case !known:
			results = append(results, ActResult{ID: id, Result: ResultNotFound})
		case state != st.from:
			results = append(results, ActResult{ID: id, Result: ResultBadState, State: state})
		default:
			moving = append(moving, key)
			results = append(results, ActResult{ID: id, Result: ResultDone, State: st.to})
		}
	}
	return results, moving
}

// lockStates locks the messages of ids in the order of their ids, so that two
// such transactions never wait for each other, and returns their states.
func lockStates(ctx context.Context, tx pgx.Tx, ids []string) (map[uuid.UUID]State, error) {
	keys := []uuid.UUID{}
	for _, id := range ids {
		if key, err := uuid.Parse(id); err == nil {
			keys = append(keys, key)
		}
	}
	const sql = `SELECT id, state FROM dead_letters WHERE id = ANY ($1) ORDER BY id FOR UPDATE`
	rows, err := tx.Query(ctx, sql, keys)
	if err != nil {
		return nil, err
	}
	states := map[uuid.UUID]State{}
	var key uuid.UUID
	var state State
	_, err = pgx.ForEachRow(rows, []any{&key, &state}, func() error {
		states[key] = state
		return nil
	})
	return states, err
}

// writeAudit notes each message that exists; they share one operation.
func writeAudit(ctx context.Context, tx pgx.Tx, results []ActResult, act string, a Act) error {
	operation := uuid.NewString()
	for _, r := range slices.DeleteFunc(slices.Clone(results), func(r ActResult) bool { return r.Result == ResultNotFound }) {
		entry := audit.Entry{
			At: a.At, Actor: a.Actor, From: a.From, Act: act, Object: "message " + r.ID,
			OperationID: operation, Reason: displayable(a.Reason), Result: r.Result,
		}
		if err := audit.Write(ctx, tx, entry); err != nil {
			return err
		}
	}
	return nil
}

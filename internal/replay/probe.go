package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Kinds of a guard that is probed in the business database.
const (
	KindKey    = "key" // the idempotency key; not a probe
	KindState  = "state"
	KindEffect = "effect"
)

// probeTimeout bounds one probe, on both sides of the connection.
const probeTimeout = 2 * time.Second

// errNoDatabase: a guard names a database that is not configured.
var errNoDatabase = errors.New("no such business database")

// Guard is a read-only probe of the business database.
type Guard struct {
	Name     string
	Kind     string // KindState or KindEffect
	Database string
	Query    string   // $1 is the business key
	From     []string // states that the consumer's guard lets pass
	Done     []string // states that say that the business succeeded
}

// probe asks the guards about one business key. Several guards of one kind
// count together: the state that blocks most, and any effect.
func (s *Service) probe(ctx context.Context, guards []Guard, businessKey string) (StateReading, EffectReading) {
	var state StateReading
	var effect EffectReading
	for _, g := range guards {
		row, there, err := s.ask(ctx, g, businessKey)
		switch g.Kind {
		case KindState:
			state = worseState(state, g.reading(row, there, err))
		case KindEffect:
			effect = EffectReading{
				Name: joinNames(effect.Name, g.Name), Probed: true,
				There: effect.There || there, Err: errors.Join(effect.Err, err),
			}
		}
	}
	return state, effect
}

// reading says where a state stands for g.
func (g Guard) reading(value string, there bool, err error) StateReading {
	r := StateReading{Name: g.Name, Value: value, Err: err, Class: StateOther}
	switch {
	case err != nil:
	case !there:
		r.Class = StateNoRow
	case slices.Contains(g.From, value):
		r.Class = StateFrom
	case slices.Contains(g.Done, value):
		r.Class = StateDone
	}
	return r
}

// stateOrder ranks the classes by how much they block.
var stateOrder = []StateClass{StateNotProbed, StateFrom, StateDone, StateOther, StateNoRow}

func worseState(a, b StateReading) StateReading {
	worse := a
	if slices.Index(stateOrder, b.Class) > slices.Index(stateOrder, a.Class) {
		worse = b
	}
	worse.Err = errors.Join(a.Err, b.Err)
	return worse
}

func joinNames(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// ask runs g's query for businessKey and returns the first column of the first
// row as text, whatever its type, and whether there is a row. It runs in a
// transaction that cannot write.
func (s *Service) ask(ctx context.Context, g Guard, businessKey string) (value string, there bool, err error) {
	pool := s.databases[g.Database]
	if pool == nil {
		return "", false, fmt.Errorf("replay: probe %s: %w: %s", g.Name, errNoDatabase, g.Database)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	value, there, err = firstCell(ctx, pool, g.Query, businessKey)
	if err != nil {
		return "", false, fmt.Errorf("replay: probe %s: %w", g.Name, err)
	}
	return value, there, nil
}

func firstCell(ctx context.Context, pool *pgxpool.Pool, query, arg string) (value string, there bool, err error) {
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return "", false, err
	}
	// Nothing to keep: a probe only reads. The rollback's own failure closes
	// the connection.
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", probeTimeout.Milliseconds())); err != nil {
		return "", false, err
	}
	// One row is enough, also of a query that would return thousands. The line
	// break ends a comment at the query's end.
	sql := "SELECT * FROM (" + strings.TrimRight(strings.TrimSpace(query), "; \n\t") + "\n) AS probe LIMIT 1"
	result := tx.Conn().PgConn().ExecParams(ctx, sql, [][]byte{[]byte(arg)}, nil, nil, nil).Read()
	if result.Err != nil {
		return "", false, result.Err
	}
	if len(result.Rows) == 0 {
		return "", false, nil
	}
	if len(result.Rows[0]) > 0 {
		value = strings.TrimRight(string(result.Rows[0][0]), " ") // char(n) is padded
	}
	return value, true, nil
}

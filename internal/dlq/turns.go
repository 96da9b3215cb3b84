package dlq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// stretch is how long a console drains a source before it lets another one
	// that waits have its turn.
	stretch = 2 * time.Second
	// turnWait bounds one wait for a turn: the waiting statement keeps old row
	// versions from being cleaned up, and a pause must be seen.
	turnWait = 5 * time.Second
)

// errYield: another console has its turn now.
var errYield = errors.New("another console has its turn")

// lockKey is the advisory lock of the source $1.
const lockKey = `hashtextextended(current_schema() || ' drain ' || $1::text, 0)`

// takeTurn opens a ledger: it connects and takes the source's lock. Where
// another console has that it tells onWait, and waits in Postgres' own line,
// which is served in order and at once when the holder is gone. It returns
// errElsewhere where that took too long.
func takeTurn(ctx context.Context, pool *pgxpool.Pool, source Source, returns returnNoter, onWait func()) (*ledger, error) {
	conn, err := dialLedger(ctx, pool)
	if err != nil {
		return nil, err
	}
	if err = lockNow(ctx, conn, source); errors.Is(err, errElsewhere) {
		onWait()
		err = waitInLine(ctx, conn, source)
	}
	if err != nil {
		closeConn(conn)
		return nil, fmt.Errorf("dlq: lock source: %w", err)
	}
	return &ledger{conn: conn, source: source, returns: returns, since: time.Now()}, nil
}

// lockNow takes the source's lock, or returns errElsewhere.
func lockNow(ctx context.Context, conn *pgx.Conn, source Source) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var locked bool
	err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock("+lockKey+")", source.Name).Scan(&locked)
	if err == nil && !locked {
		err = errElsewhere
	}
	return err
}

func waitInLine(ctx context.Context, conn *pgx.Conn, source Source) error {
	ctx, cancel := context.WithTimeout(ctx, turnWait+askTimeout)
	defer cancel()
	const bound = `SELECT set_config('lock_timeout', $1, false)`
	if _, err := conn.Exec(ctx, bound, fmt.Sprint(turnWait.Milliseconds())); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "SELECT pg_advisory_lock("+lockKey+")", source.Name)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "55P03" { // lock_not_available
		return errElsewhere
	}
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "RESET lock_timeout")
	return err
}

// yield is for the moment after a window was settled: it returns errYield where
// this console has drained for a stretch and another one waits. Whoever still
// looks for what a crash left in doubt keeps the turn, since that takes one look
// without a break.
func (l *ledger) yield(ctx context.Context, now time.Time) error {
	if l.doubt > 0 || now.Sub(l.since) < stretch {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	const sql = `
		SELECT EXISTS (
			SELECT FROM pg_locks
			WHERE locktype = 'advisory' AND NOT granted AND objsubid = 1
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
				AND (classid::bigint << 32 | objid::bigint) = ` + lockKey + `)`
	var waiting bool
	if err := l.conn.QueryRow(ctx, sql, l.source.Name).Scan(&waiting); err != nil {
		return storeError{fmt.Errorf("dlq: see who waits: %w", err)}
	}
	if waiting {
		return errYield
	}
	l.since = now
	return nil
}

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

// returnNoter is told when a message comes back dead that a replay had sent,
// in the transaction that stores its new life.
type returnNoter interface {
	NoteReturn(ctx context.Context, tx pgx.Tx, messageID string, replayID int64, at time.Time) error
}

// errElsewhere: another console drains this source.
var errElsewhere = errors.New("another console drains this source")

const (
	// storeTimeout bounds one transaction of the drain.
	storeTimeout = time.Minute
	// askTimeout bounds its small questions.
	askTimeout = 10 * time.Second
	// doubtFor is how long a window may take to come back after its ack got
	// lost: well longer than a broker needs to notice that a connection is dead.
	doubtFor = 2 * time.Minute
)

// ledger is the drain's side of Postgres while it consumes one source: a
// connection of its own that holds the source's lock, so that one console at a
// time drains it. A lost connection is a lost lock; the ledger is then of no
// more use.
type ledger struct {
	conn    *pgx.Conn
	source  Source
	returns returnNoter // may be nil

	since    time.Time // when this turn began
	lookedAt time.Time // since when this drain consumes
	doubt    int       // receipts left by earlier ones
	awaited  int       // the most that one window may bring back: so many must fit into the first
	first    bool      // nothing but messages with such receipts has come since
	distrust bool      // that a message was redelivered means nothing (rabbit.Window.Refilled)
}

// dialLedger connects so that the server notices soon when this machine is gone,
// and frees the lock.
func dialLedger(ctx context.Context, pool *pgxpool.Pool) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("dlq: connect: %w", err)
	}
	const alive = `
		SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
			set_config('tcp_keepalives_count', '3', false)`
	if _, err := conn.Exec(ctx, alive); err != nil {
		closeConn(conn)
		return nil, fmt.Errorf("dlq: connect: %w", err)
	}
	return conn, nil
}

func (l *ledger) close() { closeConn(l.conn) }

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the server frees the lock either way
}

// begin must be called before the drain consumes: it forgets the receipts of
// windows that are known to be acked, and notes on the others that someone
// looks for them now. A message with a receipt can be taken for another one
// only by a look that is cut short, and this leaves a trace of it.
func (l *ledger) begin(ctx context.Context, acked []uuid.UUID, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	err := pgx.BeginFunc(ctx, l.conn, func(tx pgx.Tx) error {
		const known = `INSERT INTO source_settings (source) VALUES ($1) ON CONFLICT (source) DO NOTHING`
		if _, err := tx.Exec(ctx, known, l.source.Name); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, settleSQL, acked); err != nil {
			return err
		}
		const look = `
			WITH looked AS (
				UPDATE windows SET looks = looks + 1 WHERE source = $1 AND outstanding > 0 RETURNING outstanding, looks, marked
			) SELECT coalesce(sum(outstanding), 0), coalesce(max(outstanding) FILTER (WHERE looks = 1 AND NOT marked), 0) FROM looked`
		return tx.QueryRow(ctx, look, l.source.Name).Scan(&l.doubt, &l.awaited)
	})
	if err != nil {
		return fmt.Errorf("dlq: begin to drain: %w", err)
	}
	l.lookedAt, l.first = now, true
	return nil
}

const settleSQL = `UPDATE windows SET outstanding = 0 WHERE id = ANY ($1)`

// settle forgets the receipts of a window that is proven to be acked.
func (l *ledger) settle(ctx context.Context, window uuid.UUID) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if _, err := l.conn.Exec(ctx, settleSQL, []uuid.UUID{window}); err != nil {
		return fmt.Errorf("dlq: settle window: %w", err)
	}
	return nil
}

// forgive forgets what earlier drains left in doubt once it can no longer come
// back. It is for moments when a window has just been acked or the queue was
// found empty. Should a message come back all the same, it is stored again and
// marked as a possible copy.
func (l *ledger) forgive(ctx context.Context, now time.Time) error {
	if l.doubt == 0 || now.Sub(l.lookedAt) < doubtFor {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	const sql = `UPDATE windows SET outstanding = 0 WHERE source = $1 AND outstanding > 0 AND looks > 0`
	if _, err := l.conn.Exec(ctx, sql, l.source.Name); err != nil {
		return fmt.Errorf("dlq: forget old receipts: %w", err)
	}
	l.doubt = 0
	return nil
}

package dlq

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
)

var act = Act{Actor: "ada", From: "10.0.0.1", Reason: "because", At: arrival}

// delivery is a message that died in q.pay at the given time.
func delivery(body string, at time.Time) rabbit.Delivery {
	return rabbit.Delivery{
		Exchange: "ex.dlx", RoutingKey: "terminal", Body: []byte(body),
		Properties: rabbit.Properties{ContentType: "application/json", MessageID: "m-" + body},
		Headers:    rabbit.Table{"x-death": []any{died("q.pay", "rejected", 1, at)}},
	}
}

// put stores deliveries as a drain does, and returns the ids in their order.
func put(t *testing.T, pool *pgxpool.Pool, source Source, deliveries ...rabbit.Delivery) []string {
	t.Helper()
	return ids(putLetters(t, pool, source, nil, deliveries...))
}

func putLetters(t *testing.T, pool *pgxpool.Pool, source Source, returns returnNoter, deliveries ...rabbit.Delivery) []*letter {
	t.Helper()
	l := open(t, pool, source, returns)
	defer l.close()
	letters := prepareAll(source, deliveries)
	b, err := l.store(t.Context(), letters, arrival)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.settle(t.Context(), b.window); err != nil {
		t.Fatal(err)
	}
	return letters
}

func open(t *testing.T, pool *pgxpool.Pool, source Source, returns returnNoter) *ledger {
	t.Helper()
	l := lock(t, pool, source, returns)
	if err := l.begin(t.Context(), nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	return l
}

// lock opens a ledger. The server may hold the lock of one that was just closed
// for a moment longer.
func lock(t *testing.T, pool *pgxpool.Pool, source Source, returns returnNoter) *ledger {
	t.Helper()
	var l *ledger
	poll.Until(t, patience, func() (err error) {
		l, err = takeTurn(t.Context(), pool, source, returns, func() {})
		return err
	})
	return l
}

// store is what an intake does, with letters that are all there.
func (l *ledger) store(ctx context.Context, letters []*letter, at time.Time) (*batch, error) {
	in := &intake{ledger: l, at: at, letters: letters}
	return in.store(ctx)
}

func prepareAll(source Source, deliveries []rabbit.Delivery) []*letter {
	letters := make([]*letter, len(deliveries))
	for i, d := range deliveries {
		letters[i] = prepare(d, source, arrival)
	}
	return letters
}

func ids(letters []*letter) []string {
	all := make([]string, len(letters))
	for i, l := range letters {
		all[i] = l.id.String()
	}
	return all
}

// number runs a query for one number.
func number(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) int {
	t.Helper()
	n, err := numberOrError(t.Context(), pool, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func numberOrError(ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) (int, error) {
	var n int
	err := pool.QueryRow(ctx, sql, args...).Scan(&n)
	return n, err
}

// stored checks how many messages there are, and how many are marked as
// possible copies.
func stored(ctx context.Context, pool *pgxpool.Pool, rows, copies int) error {
	n, err := numberOrError(ctx, pool, "SELECT count(*) FROM dead_letters")
	if err != nil {
		return err
	}
	marked, err := numberOrError(ctx, pool, "SELECT count(*) FROM dead_letters WHERE possible_copy")
	if err != nil {
		return err
	}
	if n != rows || marked != copies {
		return fmt.Errorf("%d messages are stored, %d of them marked as copies; want %d and %d", n, marked, rows, copies)
	}
	return nil
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

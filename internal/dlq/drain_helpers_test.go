package dlq

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/cutproxy"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// patience is how long a test waits for what should happen soon, also on a
// busy machine.
const patience = 40 * time.Second

// terminal returns a broker with the terminal queue of paySource.
func terminal(t *testing.T) *rabbittest.Vhost {
	t.Helper()
	v := rabbittest.New(t)
	v.Queue(t, paySource.Queue, nil)
	return v
}

// onEachKind runs a test for each kind of queue, with a broker that has the
// terminal queue of paySource and with a store of its own.
func onEachKind(t *testing.T, test func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost)) {
	t.Helper()
	rabbittest.OnEachKind(t, paySource.Queue, func(t *testing.T, v *rabbittest.Vhost) {
		test(t, pgtest.New(t), v)
	})
}

// running runs a drain until the test ends, or until the function returned
// here is called.
func running(t *testing.T, o DrainOptions) (*Drain, func()) {
	t.Helper()
	if o.Source.Name == "" {
		o.Source = paySource
	}
	o.Log = slog.New(slog.DiscardHandler)
	d := NewDrain(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("drain ended with %v, want nil", err)
		}
	})
	t.Cleanup(stop)
	return d, stop
}

func publish(t *testing.T, v *rabbittest.Vhost, bodies ...string) {
	t.Helper()
	messages := make([]rabbit.Message, len(bodies))
	for i, b := range bodies {
		messages[i] = rabbit.Message{Body: []byte(b)}
	}
	send(t, v, messages...)
}

// send publishes messages in their order; without an exchange and a routing
// key they go to the terminal queue.
func send(t *testing.T, v *rabbittest.Vhost, messages ...rabbit.Message) {
	t.Helper()
	p := rabbit.NewPublisher(v.URL, "test", slog.New(slog.DiscardHandler))
	defer p.Close()
	for _, m := range messages {
		if m.Exchange == "" && m.RoutingKey == "" {
			m.RoutingKey = paySource.Queue
		}
		m.Properties.DeliveryMode = 2
		if err := p.Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
}

func untilStored(t *testing.T, pool *pgxpool.Pool, rows, copies int) {
	t.Helper()
	poll.Until(t, patience, func() error { return stored(t.Context(), pool, rows, copies) })
}

// untilSettled waits until all that is stored is acked for good.
func untilSettled(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
	t.Helper()
	untilReceipts(t, pool, v, "SELECT coalesce(sum(outstanding), 0) FROM windows")
}

// untilQuiet is untilSettled where windows of lost connections may be in doubt
// for a while.
func untilQuiet(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
	t.Helper()
	untilReceipts(t, pool, v, "SELECT coalesce(sum(outstanding), 0) FROM windows WHERE looks = 0")
}

func untilReceipts(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost, count string) {
	t.Helper()
	poll.Until(t, patience, func() error {
		n, err := numberOrError(t.Context(), pool, count)
		if left := v.Depth(t, paySource.Queue); err == nil && n+left > 0 {
			err = fmt.Errorf("%d receipts are outstanding and %d messages on the broker", n, left)
		}
		return err
	})
}

// through returns a URL that leads through a proxy.
func through(t *testing.T, address string) (string, *cutproxy.Proxy) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := cutproxy.New(t, u.Host)
	u.Host = p.Addr()
	return u.String(), p
}

func poolThrough(t *testing.T, pool *pgxpool.Pool) (*pgxpool.Pool, *cutproxy.Proxy) {
	t.Helper()
	address, proxy := through(t, pgtest.URL(pool))
	cut, err := pgxpool.New(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cut.Close)
	return cut, proxy
}

func untilState(t *testing.T, d *Drain, want SourceState) SourceStatus {
	t.Helper()
	poll.Until(t, patience, func() error {
		if s := d.Status(); s.State != want {
			return fmt.Errorf("state %s (%s), want %s", s.State, s.Why, want)
		}
		return nil
	})
	return d.Status()
}

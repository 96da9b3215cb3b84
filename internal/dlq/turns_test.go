package dlq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// drainedBy is how many messages a drain has stored.
func drainedBy(d *Drain) int {
	return int(testutil.ToFloat64(d.Metrics.messages.WithLabelValues("pay", string(NoReason))))
}

// load publishes pairs of twins until it is stopped, and says how many messages
// that were.
func load(t *testing.T, v *rabbittest.Vhost) (stop func() int) {
	t.Helper()
	p := rabbit.NewPublisher(v.URL, "load", slog.New(slog.DiscardHandler))
	end, done := make(chan struct{}), make(chan struct{})
	n := 0
	go func() {
		defer close(done)
		defer p.Close()
		for {
			select {
			case <-end:
				return
			default:
			}
			for range 2 {
				m := rabbit.Message{RoutingKey: paySource.Queue, Body: fmt.Appendf(nil, "pair %d", n/2), Properties: rabbit.Properties{DeliveryMode: 2}}
				if err := p.Publish(context.Background(), m); err != nil {
					t.Errorf("publish: %v", err)
					return
				}
				n++
			}
		}
	}()
	stop = sync.OnceValue(func() int {
		close(end)
		<-done
		return n
	})
	t.Cleanup(func() { stop() })
	return stop
}

func measured(v *rabbittest.Vhost, pool *pgxpool.Pool) DrainOptions {
	return DrainOptions{URL: v.URL, Pool: pool, Metrics: NewMetrics(prometheus.NewRegistry(), []string{"pay"})}
}

// inLine says whether a console waits for the source's lock.
func inLine(t *testing.T, pool *pgxpool.Pool) bool {
	t.Helper()
	const sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND (classid::bigint << 32 | objid::bigint) = " + lockKey
	return number(t, pool, sql, paySource.Name) > 0
}

// Two consoles on a queue that is never empty both drain; nothing is lost, twins
// stay two, and nothing looks like a copy.
func TestTwoConsolesShareTheWorkUnderLoad(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		publishing := load(t, v)
		first, _ := running(t, measured(v, pool))
		second, _ := running(t, measured(v, pool))
		poll.Until(t, 2*patience, func() error {
			if a, b := drainedBy(first), drainedBy(second); a < 200 || b < 200 {
				return fmt.Errorf("drained %d and %d, want both at work", a, b)
			}
			return nil
		})
		before := drainedBy(first)
		poll.True(t, 2*patience, "the first has its turn again", func() bool { return drainedBy(first) > before })

		n := publishing()
		untilStored(t, pool, n, 0)
		untilSettled(t, pool, v)
		if odd := number(t, pool, "SELECT count(*) FROM (SELECT FROM dead_letters GROUP BY body_sha256 HAVING count(*) <> 2) AS x"); odd != 0 {
			t.Errorf("%d pairs of twins are not two", odd)
		}
		for _, d := range []*Drain{first, second} {
			if s := d.Status(); s.State != SourceUp || s.Why != "" && s.Why != standby.why {
				t.Errorf("status %+v", s)
			}
		}
	})
}

// The server gives the lock of a console that is gone to the one that waits.
func TestStandbyTakesOverAtOnce(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	holder := lock(t, pool, paySource, nil)
	d, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})
	poll.True(t, patience, "it waits in line", func() bool { return inLine(t, pool) })
	if s := d.Status(); s.State != SourceUp || s.Why != standby.why {
		t.Errorf("status %+v, want that another one drains", s)
	}
	publish(t, v, "a")
	exec(t, pool, "SELECT pg_terminate_backend($1)", int(holder.conn.PgConn().PID()))
	untilStored(t, pool, 1, 0)
	poll.True(t, patience, "it says no more that another one drains", func() bool { return d.Status().State == SourceUp && d.Status().Why == "" })
}

// A turn ends only after a stretch, and only for somebody who waits; who still
// looks for what a crash left behind keeps it.
func TestTurnEnds(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	l := open(t, pool, paySource, nil)
	defer l.close()
	long := l.since.Add(stretch)
	if err := l.yield(t.Context(), long); err != nil {
		t.Errorf("nobody waits: %v, want nil", err)
	}
	if l.since != long {
		t.Errorf("since %v, want that a new stretch begins", l.since)
	}
	waiting := make(chan error, 1)
	go func() {
		next, err := takeTurn(t.Context(), pool, paySource, nil, func() {})
		if err == nil {
			next.close()
		}
		waiting <- err
	}()
	poll.True(t, patience, "somebody waits", func() bool { return inLine(t, pool) })
	if err := l.yield(t.Context(), l.since.Add(stretch-time.Millisecond)); err != nil {
		t.Errorf("too early: %v, want nil", err)
	}
	l.doubt = 1
	if err := l.yield(t.Context(), l.since.Add(time.Hour)); err != nil {
		t.Errorf("in doubt: %v, want nil", err)
	}
	l.doubt = 0
	poll.Until(t, patience, func() error {
		if err := l.yield(t.Context(), l.since.Add(stretch)); !errors.Is(err, errYield) {
			return fmt.Errorf("somebody waits: want errYield, not %w", err)
		}
		return nil
	})
	l.close()
	if err := <-waiting; err != nil {
		t.Errorf("the next one: %v", err)
	}
}

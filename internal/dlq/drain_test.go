package dlq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

func TestDrainStoresWhatTheBrokerDeadLetters(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		v.Queue(t, "q.pay", rabbit.Table{
			"x-message-ttl": int32(1), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": paySource.Queue,
		})
		v.Exchange(t, "ex.pay", "direct", nil)
		v.Bind(t, "q.pay", "pay.success", "ex.pay")
		reg := prometheus.NewPedanticRegistry()
		source := paySource
		source.Terminal = true // quorum queues have a delivery limit of their own on RabbitMQ 4
		d, _ := running(t, DrainOptions{
			Source: source, URL: v.URL, Pool: pool, Metrics: NewMetrics(reg, []string{"pay"}), Management: rabbit.NewManagement(v.ManagementURL, v.URL),
		})

		send(t, v, rabbit.Message{
			Exchange: "ex.pay", RoutingKey: "pay.success", Body: []byte(`{"orderNo":"A-1"}`),
			Properties: rabbit.Properties{ContentType: "application/json"},
		})

		untilStored(t, pool, 1, 0)
		untilSettled(t, pool, v)
		page, err := NewStore(pool).List(t.Context(), Filter{})
		if err != nil {
			t.Fatal(err)
		}
		m := page.Messages[0]
		if m.State != Open || m.Round != 1 || m.Reason != Expired || m.BusinessKey != "A-1" || m.Source != "pay" || m.ContentType != "application/json" ||
			m.Original.Queue != "q.pay" || *m.Original.Exchange != "ex.pay" || *m.Original.RoutingKey != "pay.success" || m.Original.Evidence != OriginXDeath {
			t.Errorf("message %+v", m)
		}
		if time.Since(m.DiedAt) > time.Minute {
			t.Errorf("died at %v", m.DiedAt)
		}
		if n := testutil.ToFloat64(d.Metrics.messages.WithLabelValues("pay", "expired")); n != 1 {
			t.Errorf("%v drained by the metric, want 1", n)
		}
		poll.Until(t, patience, func() error {
			s := d.Status()
			if s.State != SourceUp || s.Why != "" || s.Ready == nil || *s.Ready != 0 || s.Unacked == nil || *s.Unacked != 0 || s.LastDrainedAt.IsZero() {
				return fmt.Errorf("status %+v", s)
			}
			return nil
		})
		if n := testutil.ToFloat64(d.Metrics.running.WithLabelValues("pay")); n != 1 {
			t.Errorf("dlo_drain_up %v, want 1", n)
		}
		problems, err := testutil.GatherAndLint(reg)
		if err != nil || len(problems) > 0 {
			t.Errorf("metrics: %v %v", problems, err)
		}
	})
}

func TestMissingQueueThatAppearsLater(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), rabbittest.New(t)
	d, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})
	if s := untilState(t, d, SourceMissing); !strings.Contains(s.Why, paySource.Queue) || s.Ready != nil {
		t.Errorf("status %+v", s)
	}

	v.Queue(t, paySource.Queue, nil)
	publish(t, v, "a")

	untilStored(t, pool, 1, 0)
	untilState(t, d, SourceUp)
}

func TestBrokerThatIsNotThere(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	address, proxy := through(t, v.URL)
	proxy.Refuse(true)
	d, _ := running(t, DrainOptions{URL: address, Pool: pool})
	if s := untilState(t, d, SourceDown); s.Why == "" || strings.Contains(s.Why, "guest") && strings.Contains(s.Why, ":guest@") {
		t.Errorf("why %q", s.Why)
	}
	publish(t, v, "a")
	proxy.Refuse(false)
	untilStored(t, pool, 1, 0)
}

func TestPauseLastsAcrossARestart(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	d, stop := running(t, DrainOptions{URL: v.URL, Pool: pool})
	untilState(t, d, SourceUp)
	if err := d.Pause(t.Context(), act); err != nil {
		t.Fatal(err)
	}
	if s := d.Status(); s.State != SourcePaused || !s.Paused || s.PausedBy != "ada" || !s.PausedAt.Equal(arrival) {
		t.Errorf("status %+v, want paused by ada at once", s)
	}
	stop()
	publish(t, v, "a")

	again, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})
	untilState(t, again, SourcePaused)
	poll.Until(t, patience, func() error {
		if s := again.Status(); !s.Paused || s.PausedBy != "ada" || !s.PausedAt.Equal(arrival) || s.Ready == nil || *s.Ready != 1 {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
	if err := stored(t.Context(), pool, 0, 0); err != nil {
		t.Error(err)
	}

	if err := again.Resume(t.Context(), act); err != nil {
		t.Fatal(err)
	}
	untilStored(t, pool, 1, 0)
	if n := number(t, pool, "SELECT count(*) FROM audit WHERE act IN ('pause', 'resume') AND object = 'source pay' AND actor = 'ada'"); n != 2 {
		t.Errorf("%d audit entries, want 2", n)
	}
}

func TestTwoConsolesDrainOneSourceByTurns(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		first, stop := running(t, DrainOptions{URL: v.URL, Pool: pool})
		untilState(t, first, SourceUp)
		second, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})
		poll.True(t, patience, "the second waits", func() bool { return second.Status().Why == standby.why })

		// What the second is told goes for the first too.
		if err := second.Pause(t.Context(), act); err != nil {
			t.Fatal(err)
		}
		untilState(t, first, SourcePaused)
		if err := second.Resume(t.Context(), act); err != nil {
			t.Fatal(err)
		}
		poll.True(t, patience, "one of them drains", func() bool {
			return first.Status().State == SourceUp && second.Status().State == SourceUp
		})
		stop()
		publish(t, v, "a")
		untilStored(t, pool, 1, 0)
		untilSettled(t, pool, v)
	})
}

func TestShutdownFinishesTheWindowInHand(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		d, stop := running(t, DrainOptions{URL: v.URL, Pool: pool})
		untilState(t, d, SourceUp)
		locked, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer locked.Rollback(t.Context())
		if _, err := locked.Exec(t.Context(), "LOCK TABLE dead_letters IN SHARE MODE"); err != nil {
			t.Fatal(err)
		}
		publish(t, v, "a")
		poll.True(t, patience, "the window waits for the lock", func() bool {
			return number(t, pool, "SELECT count(*) FROM pg_locks WHERE relation = 'dead_letters'::regclass AND NOT granted") > 0
		})
		ended := make(chan struct{})
		go func() { stop(); close(ended) }()
		if err := locked.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-ended

		if err := stored(t.Context(), pool, 1, 0); err != nil {
			t.Error(err)
		}
		untilSettled(t, pool, v)
	})
}

func TestTroubleSaysWhatIsNotDoneAndWhatToDo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		want SourceState
		says string
	}{
		"paused":    {errPaused, SourcePaused, ""},
		"elsewhere": {errElsewhere, SourceUp, "another console"},
		"Postgres":  {storeError{errors.New("disk full")}, SourceBlocked, "stay on the broker"},
		"missing":   {fmt.Errorf("x: %w", rabbit.ErrQueueMissing), SourceMissing, "until it is declared"},
		"poison":    {fmt.Errorf("x: %w", rabbit.ErrPoison), SourceBlocked, "frame_max"},
		"down":      {fmt.Errorf("x: %w", rabbit.ErrUnavailable), SourceDown, "tried again"},
		"cancelled": {fmt.Errorf("x: %w: %w", rabbit.ErrUnavailable, rabbit.ErrCancelled), SourceDown, "ended the subscription"},
		"refused":   {fmt.Errorf("x: %w: %w", rabbit.ErrUnavailable, rabbit.ErrAccessRefused), SourceBlocked, "Grant the user"},
		"no vhost":  {fmt.Errorf("x: %w: %w", rabbit.ErrUnavailable, rabbit.ErrVhostMissing), SourceMissing, "no such virtual host"},
		"too slow":  {fmt.Errorf("x: %w: %w", rabbit.ErrUnavailable, rabbit.ErrConsumerTimeout), SourceBlocked, "consumer_timeout"},
		"hazards":   {hazardError{[]Hazard{{Kind: WarnTTL, Detail: "5"}}}, SourceBlocked, "expire after 5 ms"},
		"disk":      {storeError{&pgconn.PgError{Code: "53100"}}, SourceBlocked, "room left on its disk"},
		"standby":   {storeError{&pgconn.PgError{Code: "25006"}}, SourceBlocked, "read-only"},
		"other 53":  {storeError{&pgconn.PgError{Code: "53999"}}, SourceBlocked, "what it takes"},
		"no code":   {storeError{&pgconn.PgError{}}, SourceBlocked, "does not take messages"},
		"slow":      {storeError{fmt.Errorf("x: %w", context.DeadlineExceeded)}, SourceBlocked, "took too long"},
	} {
		got := troubleOf(tt.err, paySource)
		if got.state != tt.want || !strings.Contains(got.why, tt.says) || got.pace.slowest < got.pace.quickest ||
			(got.pace == paceNever) != (name == "poison") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestBackoffGrowsToItsBoundAndNoFurther(t *testing.T) {
	t.Parallel()
	var b backoff
	for i, top := range []time.Duration{1, 2, 4, 8, 10, 10, 10} {
		wait := b.next(time.Second, 10*time.Second)
		if wait < top*time.Second/2 || wait > top*time.Second {
			t.Errorf("wait %d is %v, want between %v and %v", i, wait, top*time.Second/2, top*time.Second)
		}
	}
	for range 100 {
		b.next(time.Second, 10*time.Second)
	}
	if wait := b.next(time.Second, 10*time.Second); wait > 10*time.Second {
		t.Errorf("after a long time %v", wait)
	}
	b.reset()
	if wait := b.next(time.Second, 10*time.Second); wait > time.Second {
		t.Errorf("after the reset %v", wait)
	}
}

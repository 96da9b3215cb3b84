package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// underLoad publishes messages in pairs of twins until it is stopped, and says
// how many the broker has confirmed.
func underLoad(t *testing.T, v *rabbittest.Vhost) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	n := 0
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			v.Publish(t, "", "terminal", amqp.Publishing{Body: fmt.Appendf(nil, "pair %d", n/2), DeliveryMode: amqp.Persistent})
			n++
		}
	}()
	stop = sync.OnceValue(func() int {
		cancel()
		<-done
		if n%2 == 1 {
			v.Publish(t, "", "terminal", amqp.Publishing{Body: fmt.Appendf(nil, "pair %d", n/2), DeliveryMode: amqp.Persistent})
			n++
		}
		return n
	})
	t.Cleanup(func() { stop() })
	return stop
}

// checkTwins waits until all messages are stored, proves that each pair is two,
// and returns how many look like copies.
func checkTwins(t *testing.T, store *pgxpool.Pool, n int) (copies int) {
	t.Helper()
	const counts = `
		SELECT coalesce(sum(n), 0), count(*) FILTER (WHERE n <> 2), coalesce(sum(copies), 0) FROM (
			SELECT count(*) AS n, count(*) FILTER (WHERE possible_copy) AS copies FROM dead_letters GROUP BY body_sha256) AS bodies`
	var stored, odd int
	poll.Until(t, soon, func() error {
		if err := store.QueryRow(t.Context(), counts).Scan(&stored, &odd, &copies); err != nil {
			return err
		}
		if stored < n {
			return fmt.Errorf("%d of %d are stored", stored, n)
		}
		return nil
	})
	if stored != n || odd != 0 {
		t.Errorf("%d messages are stored, and %d pairs are not two; want %d and none", stored, odd, n)
	}
	return copies
}

func (c *console) awaitStored(t *testing.T, store *pgxpool.Pool, atLeast int) {
	t.Helper()
	poll.Until(t, soon, func() error {
		var n int
		err := store.QueryRow(t.Context(), "SELECT count(*) FROM dead_letters").Scan(&n)
		if err == nil && n < atLeast {
			err = fmt.Errorf("%d are stored, want %d at least", n, atLeast)
		}
		return err
	})
}

// Two consoles on one queue are changed one after the other while messages come:
// each stops with 0, nothing is lost, and nothing is there twice.
func TestRollingChangeUnderLoad(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"classic", "quorum"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			v, store := rabbittest.New(t), pgtest.New(t)
			v.Queue(t, "terminal", amqp.Table{"x-queue-type": kind})
			v.Queue(t, "work", nil)
			config := plain(pgtest.URL(store), v.URL)
			publishing := underLoad(t, v)
			running := []*console{startConsole(t, config), startConsole(t, config)}
			for i := range 4 {
				running[0].awaitReady(t)
				running[0].awaitStored(t, store, 200*(i+1))
				running[0].stop(t)
				running = append(running[1:], startConsole(t, config))
			}
			n := publishing()
			checkTwins(t, store, n)
			for _, c := range running {
				c.stop(t)
			}
			if copies := checkTwins(t, store, n); copies != 0 {
				t.Errorf("%d messages look like copies, and nothing was given back", copies)
			}
		})
	}
}

// SIGTERM while Postgres hangs with a window in hand: the console gives the
// window back, ends with 0 within its grace, and another one stores all of it once.
func TestStopWhilePostgresHangs(t *testing.T) {
	t.Parallel()
	v, store := rabbittest.New(t), pgtest.New(t)
	v.Queue(t, "terminal", amqp.Table{"x-queue-type": "quorum"})
	v.Queue(t, "work", nil)
	database := through(t, pgtest.URL(store))
	c := startConsole(t, plain(database.url, v.URL), "DLO_SERVER_GRACE=8s")
	c.awaitReady(t)
	publishPairs(t, v, 0, 20)
	c.awaitStored(t, store, 20)
	poll.Until(t, soon, func() error {
		var n int
		err := store.QueryRow(t.Context(), "SELECT coalesce(sum(outstanding), 0) FROM windows").Scan(&n)
		if err == nil && n > 0 {
			err = fmt.Errorf("%d messages are not known to be acked", n)
		}
		return err
	})
	database.Hold(true)
	publishPairs(t, v, 20, 20)
	poll.True(t, soon, "a window is in hand, or none is asked for", func() bool {
		return v.Depth(t, "terminal") == 0 || strings.Contains(c.output(), "drain interrupted")
	})

	c.stop(t) // its grace is well within what stop waits for
	poll.True(t, soon, "the window is on the broker again", func() bool { return v.Depth(t, "terminal") == 20 })
	database.Cut() // what the proxy still holds open towards the server
	next := startConsole(t, plain(pgtest.URL(store), v.URL))
	checkTwins(t, store, 40) // a twin that was given back may look like a copy
	next.stop(t)
}

func publishPairs(t *testing.T, v *rabbittest.Vhost, from, n int) {
	t.Helper()
	for i := range n {
		v.Publish(t, "", "terminal", amqp.Publishing{Body: fmt.Appendf(nil, "pair %d", (from+i)/2), DeliveryMode: amqp.Persistent})
	}
}

type sourceStanding struct {
	Items []struct {
		State       string  `json:"state"`
		Why         *string `json:"why"`
		Paused      bool    `json:"paused"`
		PausedBy    *string `json:"paused_by"`
		PausedAt    *string `json:"paused_at"`
		ConfirmedBy *string `json:"confirmed_by"`
		Hazards     []struct {
			ID        string `json:"id"`
			Confirmed bool   `json:"confirmed"`
		} `json:"hazards"`
	} `json:"items"`
}

// A pause lasts until somebody ends it, whatever happens to the console, and it
// is shown who paused and since when.
func TestPauseSurvivesARestart(t *testing.T) {
	t.Parallel()
	v, store := rabbittest.New(t), pgtest.New(t)
	v.Queue(t, "terminal", nil)
	v.Queue(t, "work", nil)
	config := plain(pgtest.URL(store), v.URL)
	c := startConsole(t, config)
	c.awaitReady(t)
	c.awaitSource(t, "up")
	c.post(t, "/sources/s/pause", map[string]any{"reason": "deploy"}, http.StatusOK, nil)
	c.stop(t)
	publish(t, v, 0, 3)

	c = startConsole(t, config)
	c.awaitReady(t)
	c.awaitSource(t, "paused")
	var list sourceStanding
	c.get(t, "/sources", &list)
	if s := list.Items[0]; !s.Paused || s.PausedBy == nil || *s.PausedBy != "anonymous" || s.PausedAt == nil {
		t.Errorf("after the restart: %+v, want who paused it and since when", s)
	}
	if _, page := c.ask(t, http.MethodGet, c.url+"/sources", nil); !bytes.Contains(page, []byte("Paused by anonymous since ")) {
		t.Errorf("the page does not say who paused it and since when")
	}
	if n := v.Depth(t, "terminal"); n != 3 {
		t.Errorf("%d messages on the broker, want all 3", n)
	}
	c.post(t, "/sources/s/resume", map[string]any{"reason": "done"}, http.StatusOK, nil)
	c.awaitCount(t, 3)
	c.stop(t)
}

// A queue that may not be terminal is drained once somebody says so, and the
// next start knows; the queue itself is left as it is.
func TestQueueThatMayNotBeTerminal(t *testing.T) {
	t.Parallel()
	v, store := rabbittest.New(t), pgtest.New(t)
	args := amqp.Table{"x-message-ttl": int32(3_600_000)}
	v.Queue(t, "terminal", args)
	v.Queue(t, "work", nil)
	publish(t, v, 0, 3)
	config := strings.Replace(plain(pgtest.URL(store), v.URL), "brokers: [{name: b,", fmt.Sprintf("brokers: [{name: b, management_url: %q,", v.ManagementURL), 1)
	c := startConsole(t, config)
	c.awaitReady(t)
	c.awaitSource(t, "blocked")
	var list sourceStanding
	c.get(t, "/sources", &list)
	if s := list.Items[0]; len(s.Hazards) != 1 || s.Hazards[0].ID != "message_ttl=3600000" || s.Hazards[0].Confirmed {
		t.Fatalf("source %+v, want the hazard that its messages expire", s)
	}
	c.refuses(t, "/sources/s/confirm", map[string]any{"reason": "r", "hazards": []string{"message_ttl=1"}}, http.StatusConflict, "new_hazard")
	c.post(t, "/sources/s/confirm", map[string]any{"reason": "it is the last queue", "hazards": []string{"message_ttl=3600000"}}, http.StatusOK, nil)
	c.awaitCount(t, 3)
	c.stop(t)
	c = startConsole(t, config)
	publish(t, v, 3, 1)
	c.awaitReady(t)
	c.awaitCount(t, 4)
	if entries := c.auditOf(t, "source s"); len(entries) != 1 {
		t.Errorf("%d audit entries, want the confirmation", len(entries))
	}
	c.stop(t)
	v.Queue(t, "terminal", args) // the broker refuses this where they differ
}

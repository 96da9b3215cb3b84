package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/guard"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/redistest"
)

const (
	queue    = "q.pay.success"
	terminal = "q.pay.dlx.terminal"
	soon     = 20 * time.Second // for what should happen, on a busy machine
)

// rig is one consumer between a virtual host with the articles' topology and a
// Redis, and what its handler saw.
type rig struct {
	v      *rabbittest.Vhost
	client *redis.Client
	o      guard.Options
	log    *logBook

	mu   sync.Mutex
	runs []string // business keys, in the order in which runs began
	say  func(ctx context.Context, d amqp.Delivery, businessKey string) error
}

// newRig declares the topology with short waits. Nothing consumes yet.
func newRig(t *testing.T) *rig {
	t.Helper()
	v := rabbittest.New(t)
	client := redistest.New(t).Client
	return newRigOn(t, v, client)
}

func newRigOn(t *testing.T, v *rabbittest.Vhost, client *redis.Client) *rig {
	t.Helper()
	r := &rig{v: v, client: client, log: &logBook{}}
	for _, exchange := range []string{"ex.pay", "ex.pay.dlx", "ex.pay.retry"} {
		v.Exchange(t, exchange, "direct", nil)
	}
	v.Queue(t, queue, amqp.Table{"x-dead-letter-exchange": "ex.pay.dlx", "x-dead-letter-routing-key": "wait0"})
	v.Bind(t, queue, "pay.success", "ex.pay")
	v.Bind(t, queue, "back", "ex.pay.retry")
	v.Queue(t, terminal, nil)
	v.Bind(t, terminal, "terminal", "ex.pay.dlx")
	l := guard.Ladder{Terminal: guard.Address{Exchange: "ex.pay.dlx", RoutingKey: "terminal"}}
	for i, ms := range []int64{40, 60, 80} {
		name := fmt.Sprintf("wait%d", i)
		v.Queue(t, "q."+name, amqp.Table{"x-message-ttl": ms, "x-dead-letter-exchange": "ex.pay.retry", "x-dead-letter-routing-key": "back"})
		v.Bind(t, "q."+name, name, "ex.pay.dlx")
		l.Tiers = append(l.Tiers, guard.Address{Exchange: "ex.pay.dlx", RoutingKey: name})
	}
	r.say = func(context.Context, amqp.Delivery, string) error { return nil }
	r.o = guard.Options{
		URL: v.URL, Queue: queue, Name: "pay-success", BusinessKey: guard.BodyField("orderNo"), Handle: r.handle,
		Keys: newKeys(t, client, guard.KeyOptions{}), Redis: client, Ladder: l, Guards: []string{"order state", "account flow"},
		Patience: 3 * time.Second, Backoff: guard.Backoff{Min: 50 * time.Millisecond, Max: 500 * time.Millisecond},
		Log: slog.New(slog.NewJSONHandler(r.log, nil)),
	}
	return r
}

func (r *rig) handle(ctx context.Context, d amqp.Delivery, businessKey string) error {
	r.mu.Lock()
	r.runs = append(r.runs, businessKey)
	say := r.say
	r.mu.Unlock()
	return say(ctx, d, businessKey)
}

func (r *rig) ran() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.runs)
}

// start runs the consumer. stop ends it, and is called with the test's end.
func (r *rig) start(t *testing.T) (stop func()) {
	t.Helper()
	c, err := guard.New(r.o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(soon):
			t.Error("the consumer does not stop")
		}
	})
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Log(r.log.String())
		}
	})
	return stop
}

// publish sends an order's message with an id of its own.
func (r *rig) publish(t *testing.T, orderNo string, headers amqp.Table) {
	t.Helper()
	r.v.Publish(t, "ex.pay", "pay.success", amqp.Publishing{
		MessageId: fmt.Sprint("m-", time.Now().UnixNano()), DeliveryMode: amqp.Persistent, Headers: headers,
		Body: []byte(`{"orderNo":"` + orderNo + `","secret":"hunter2"}`),
	})
}

// dead waits for the one message of the terminal queue and takes it.
func (r *rig) dead(t *testing.T) amqp.Delivery {
	t.Helper()
	poll.True(t, soon, "a message in the terminal queue", func() bool { return r.v.Depth(t, terminal) > 0 })
	d, _ := r.v.Get(t, terminal)
	return d
}

// drained stops the consumer and checks that the broker holds nothing for it:
// neither ready, nor given back, nor waiting.
func (r *rig) drained(t *testing.T, stop func()) {
	t.Helper()
	stop()
	for _, q := range []string{queue, "q.wait0", "q.wait1", "q.wait2", terminal} {
		if n := r.v.Depth(t, q); n != 0 {
			t.Errorf("%s holds %d messages", q, n)
		}
	}
}

func (r *rig) waitRuns(t *testing.T, n int) {
	t.Helper()
	poll.Until(t, soon, func() error {
		if got := r.ran(); got < n {
			return fmt.Errorf("%d runs, want %d", got, n)
		}
		return nil
	})
}

func (r *rig) waitEvent(t *testing.T, event, part string) {
	t.Helper()
	poll.True(t, soon, event+" with "+part+" in the log", func() bool { return r.log.has(event, part) })
}

func (r *rig) keyOf(orderNo string) string { return "mq:consumed:pay_success:" + orderNo }

func (r *rig) value(t *testing.T, orderNo string) string {
	t.Helper()
	v, err := r.client.Get(context.Background(), r.keyOf(orderNo)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return v
}

// unacked waits until the broker says that so many deliveries are held.
func (r *rig) unacked(t *testing.T, want int) {
	t.Helper()
	poll.Until(t, soon, func() error {
		var q struct {
			Unacked *int `json:"messages_unacknowledged"`
		}
		if err := json.Unmarshal(r.v.Manage(t, http.MethodGet, "/api/queues/"+r.v.Name+"/"+queue, ""), &q); err != nil {
			return err
		}
		if q.Unacked == nil || *q.Unacked != want {
			return fmt.Errorf("not yet %d unacked", want)
		}
		return nil
	})
}

// logBook keeps log lines.
type logBook struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBook) has(event, part string) bool {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, `"event":"`+event+`"`) && strings.Contains(line, part) {
			return true
		}
	}
	return false
}

var errBank = guard.Typed("BANK_TIMEOUT", errors.New("the bank did not answer"))

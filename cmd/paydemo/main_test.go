package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/guard"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/redistest"
)

const soon = 30 * time.Second // for what should happen, on a busy machine

// The test binary stands in for two programs: for paydemo itself where a test
// needs a process that can be killed, and for the console.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == "console":
		os.Exit(fakeConsole(os.Args[1:]))
	case os.Getenv("PAYDEMO_MAIN") != "":
		main()
	}
	os.Exit(m.Run())
}

// fakeConsole answers /readyz where its settings say, until it is told to end.
func fakeConsole(args []string) int {
	if args[0] == "migrate" {
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	settings, err := os.ReadFile(args[2])
	if err != nil {
		return 1
	}
	_, address, _ := strings.Cut(string(settings), `metrics_listen: "`)
	address, _, _ = strings.Cut(address, `"`)
	server := &http.Server{Addr: address, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return 1
	}
	return 0
}

// town is a payment system of a test's own: broker, Redis, books.
type town struct {
	services services
	v        *rabbittest.Vhost
	redis    *redis.Client
	pool     *pgxpool.Pool
	producer *producer
	controls controls
}

func newTown(t *testing.T) *town {
	t.Helper()
	v, cache := rabbittest.New(t), redistest.New(t)
	s := services{postgres: pgtest.URL(pgtest.Empty(t)), amqp: v.URL, redis: cache.URL, management: v.ManagementURL}
	pool, err := openDatabase(t.Context(), s.postgres, 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := declareTopology(v.URL, shortTiers()); err != nil {
		t.Fatal(err)
	}
	p := &producer{pool: pool, sender: &sender{url: v.URL}, log: slog.New(slog.DiscardHandler)}
	t.Cleanup(p.sender.close)
	return &town{s, v, cache.Client, pool, p, controls{pool}}
}

func shortTiers() []tier {
	tiers, err := parseTiers("30ms,40ms,50ms")
	if err != nil {
		panic(err)
	}
	return tiers
}

func newConsumeOptions(guards ...string) consumeOptions {
	return consumeOptions{
		guards: guards, style: guard.Status, ttl: time.Hour, fallback: guard.FailClosed, tiers: shortTiers(),
		maxRuns: 5, concurrency: 4, slowBank: 50 * time.Millisecond,
	}
}

// pay makes an order and sends its message.
func (w *town) pay(t *testing.T, o produceOptions) string {
	t.Helper()
	orderNo, err := w.producer.one(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return orderNo
}

// consume runs a consumer within the test. stop ends it.
func (w *town) consume(t *testing.T, o consumeOptions) (log *logBook, stop func()) {
	t.Helper()
	log = &logBook{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- runConsumer(ctx, w.services, o, slog.New(slog.NewTextHandler(log, nil))) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("consumer: %v", err)
		}
	})
	t.Cleanup(stop)
	return log, stop
}

// consumeAndDie runs a consumer as a process, until it has killed itself.
func (w *town) consumeAndDie(t *testing.T, guards string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "consume", "-guards", guards, "-tiers", "30ms,40ms,50ms")
	cmd.Env = append(withoutDLO(os.Environ()), append(w.services.environ(), "PAYDEMO_MAIN=1")...)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil || !wasKilled(err) {
		t.Fatalf("the consumer did not kill itself: %v\n%s", err, out)
	}
}

func (w *town) book(t *testing.T) book {
	t.Helper()
	b, err := readBook(t.Context(), w.pool, "")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// order returns the one order there is.
func (w *town) order(t *testing.T) order {
	t.Helper()
	b := w.book(t)
	if len(b.Orders) != 1 {
		t.Fatalf("%d orders, want 1", len(b.Orders))
	}
	return b.Orders[0]
}

func (w *town) dead(t *testing.T) amqp.Delivery {
	t.Helper()
	poll.True(t, soon, "a message in the terminal queue", func() bool { return w.v.Depth(t, queueTerminal) > 0 })
	d, _ := w.v.Get(t, queueTerminal)
	return d
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

func (l *logBook) count(event string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), "event="+event)
}

// waitCharges waits for so many charges of the one order.
func (w *town) waitCharges(t *testing.T, want int64) {
	t.Helper()
	poll.Until(t, soon, func() error {
		if got := w.order(t).Charges; got != want {
			return fmt.Errorf("%d charges, want %d", got, want)
		}
		return nil
	})
}

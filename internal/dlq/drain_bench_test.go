package dlq

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// BenchmarkDrain takes windows of small messages from the broker into the
// store; messages/s is the figure to look at.
func BenchmarkDrain(b *testing.B) {
	const window = windowMessages
	pool, v := pgtest.New(b), rabbittest.New(b)
	v.Queue(b, paySource.Queue, nil)
	publisher := rabbit.NewPublisher(v.URL, "benchmark", slog.New(slog.DiscardHandler))
	defer publisher.Close()
	l, err := openLedger(b.Context(), pool, paySource, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer l.close()
	if err := l.begin(b.Context(), nil, time.Now()); err != nil {
		b.Fatal(err)
	}
	consumer, err := rabbit.DialConsumer(b.Context(), v.URL, "benchmark")
	if err != nil {
		b.Fatal(err)
	}
	defer consumer.Close()
	d := NewDrain(DrainOptions{Source: paySource})
	n := 0
	for b.Loop() {
		b.StopTimer()
		var publishing errgroup.Group
		publishing.SetLimit(50)
		for range window {
			n++
			m := rabbit.Message{
				RoutingKey: paySource.Queue,
				Body:       fmt.Appendf(nil, `{"orderNo":"PO%012d","userId":%d,"amount":"129.50","status":"SUCCESS"}`, n, n%9973),
				Headers:    rabbit.Table{"x-death": []any{died("q.pay", "rejected", 1, time.Now())}},
			}
			publishing.Go(func() error { return publisher.Publish(b.Context(), m) })
		}
		if err := publishing.Wait(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := d.step(b.Context(), l, consumer, time.Minute); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "messages/s")
}

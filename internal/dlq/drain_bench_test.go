package dlq

import (
	"fmt"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

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
	conn, err := amqp.Dial(v.URL)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		b.Fatal(err)
	}
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
		for range window {
			n++
			m := amqp.Publishing{
				Body:    fmt.Appendf(nil, `{"orderNo":"PO%012d","userId":%d,"amount":"129.50","status":"SUCCESS"}`, n, n%9973),
				Headers: amqp.Table{"x-death": []any{amqp.Table{"queue": "q.pay", "reason": "rejected", "count": int64(1), "time": time.Now()}}},
			}
			if err := channel.PublishWithContext(b.Context(), "", paySource.Queue, false, false, m); err != nil {
				b.Fatal(err)
			}
		}
		for v.Depth(b, paySource.Queue) < window {
			time.Sleep(time.Millisecond) // not measured
		}
		b.StartTimer()
		if err := d.step(b.Context(), l, consumer, time.Minute); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "messages/s")
}

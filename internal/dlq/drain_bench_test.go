package dlq

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

// laddered is a message of 1 KB that went round a retry ladder.
func laddered(n int) rabbit.Delivery {
	at := time.Date(2026, 3, 1, 3, 0, n%60, 0, time.UTC)
	var history []any
	for _, queue := range []string{"q.pay.success", "q.pay.dlx.wait.5m", "q.pay.dlx.wait.1m", "q.pay.dlx.wait.30s", "q.pay.in"} {
		reason := "expired"
		if queue == "q.pay.success" {
			reason = "rejected"
		}
		history = append(history, rabbit.Table{
			"queue": queue, "reason": reason, "count": int64(1 + n%4), "time": at,
			"exchange": "ex.pay", "routing-keys": []any{"pay.success"},
		})
	}
	return rabbit.Delivery{
		Exchange: "ex.pay.dlx", RoutingKey: "terminal", Tag: uint64(n),
		Properties: rabbit.Properties{ContentType: "application/json", DeliveryMode: 2, MessageID: fmt.Sprintf("m-%d", n), Timestamp: at.Unix()},
		Headers: rabbit.Table{
			"x-death": history, "x-first-death-queue": "q.pay.success", "x-first-death-reason": "rejected",
			"x-first-death-exchange": "ex.pay", "x-retry-count": int32(5), "x-exception-type": "BankTimeout",
			"x-exception-message": "no answer in 10 s", "x-original-queue": "q.pay.success",
		},
		Body: fmt.Appendf(nil, `{"orderNo":"PO%012d","userId":%d,"amount":"129.50","status":"SUCCESS","items":[%s],"note":"付款超时"}`,
			n, n%9973, fmt.Sprintf(`{"sku":"%08x","name":"item number %d","quantity":%d,"price":"%d.90"},{"sku":"%08x","attributes":{"color":"blue","size":"%d","origin":"shenzhen","warehouse":"wh-%d","carrier":"sf-express","tracking":"SF%010d","weight":"%d.2kg","fragile":false}},{"sku":"%08x","attributes":{"color":"red","size":"%d","origin":"hangzhou","warehouse":"wh-%d","carrier":"yto","tracking":"YT%010d","weight":"%d.7kg","fragile":true}},{"sku":"%08x","attributes":{"color":"green","size":"%d","origin":"chengdu","warehouse":"wh-%d","carrier":"zto","tracking":"ZT%010d","weight":"%d.1kg"}}`,
				n*7919, n%100, n%7, n%300, n*104729, n%50, n%12, n*31, n%9, n*15485863, n%50, n%12, n*37, n%9, n*32452843, n%50, n%12, n*41, n%9)),
	}
}

func BenchmarkPrepare(b *testing.B) {
	d := laddered(1)
	b.ReportAllocs()
	for b.Loop() {
		prepare(d, paySource, d.Headers["x-death"].([]any)[0].(rabbit.Table)["time"].(time.Time))
	}
}

// BenchmarkStore commits windows; messages/s is the figure to look at.
func BenchmarkStore(b *testing.B) {
	pool := pgtest.New(b)
	l, err := takeTurn(b.Context(), pool, paySource, nil, func() {})
	if err != nil {
		b.Fatal(err)
	}
	defer l.close()
	n, stored := 0, 0
	for b.Loop() {
		b.StopTimer()
		letters := make([]*letter, windowMessages)
		for i := range letters {
			n++
			letters[i] = prepare(laddered(n), paySource, time.Now())
		}
		b.StartTimer()
		w, err := l.store(b.Context(), letters, time.Now())
		if err != nil {
			b.Fatal(err)
		}
		if err := l.settle(b.Context(), w.window); err != nil {
			b.Fatal(err)
		}
		stored += len(letters)
	}
	b.ReportMetric(float64(stored)/b.Elapsed().Seconds(), "messages/s")
}

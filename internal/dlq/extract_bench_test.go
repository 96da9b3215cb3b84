package dlq

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// BenchmarkExtract is what the drain pays for each message: a history of five
// entries, no framework, a body of JSON, and a key that stands in it.
func BenchmarkExtract(b *testing.B) {
	for _, size := range []int{0, 1 << 10, 10 << 10} {
		for _, path := range []string{"", "$.orderNo", "$..orderNo"} {
			b.Run(fmt.Sprintf("body=%dKiB/key=%s", size>>10, path), func(b *testing.B) {
				s := Source{Queue: "q.terminal"}
				if path != "" {
					s.BusinessKey = []KeyFinder{{Body: path}}
				}
				d := benchDelivery(size)
				b.ReportAllocs()
				b.SetBytes(int64(len(d.Body)))
				for b.Loop() {
					Extract(d, s, arrival)
				}
			})
		}
	}
}

func benchDelivery(size int) rabbit.Delivery {
	deaths := make([]any, 5)
	for i := range deaths {
		deaths[i] = died(fmt.Sprintf("q.wait.%d", i), "expired", int64(i+1), arrival.Add(-time.Hour))
	}
	deaths[4] = died("q.pay", "rejected", 5, arrival.Add(-time.Hour))
	lines := `{"orderNo":"PO000000000042","userId":4711,"amount":"129.50","status":"SUCCESS","lines":[`
	line := `{"sku":"A-4711","text":"a line of an order","quantity":3,"price":12.50},`
	body := lines + strings.Repeat(line, max(0, size-len(lines))/len(line))
	return rabbit.Delivery{
		Exchange: "ex.dlx", RoutingKey: "terminal", Body: []byte(strings.TrimSuffix(body, ",") + "]}"),
		Properties: rabbit.Properties{ContentType: "application/json", DeliveryMode: 2, MessageID: "m-1"},
		Headers: rabbit.Table{
			"x-death": deaths, "x-first-death-queue": "q.pay", "x-first-death-reason": "rejected", "x-first-death-exchange": "ex.pay",
			"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		},
	}
}

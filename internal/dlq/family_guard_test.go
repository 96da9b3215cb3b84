package dlq

import (
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestGuard(t *testing.T) {
	testFamily(t, "guard", []familyCase{{
		name: "the fifth failed run: what says why stays on it", queue: "q.terminal",
		headers: rabbit.Table{
			"x-retry-count": int32(5), "x-original-queue": "q.pay", "x-original-exchange": "ex.pay", "x-original-routingKey": "pay.success",
			"x-exception-type": "bank.Timeout", "x-exception-message": "no answer",
		},
		want: Facts{
			Reason: NoReason, Failure: Failure{Type: "bank.Timeout", Message: "no answer", Extractor: "guard"},
			RetryCount: new(int64(5)), RetryCountSource: "framework",
			Original: Origin{"q.pay", new("ex.pay"), new("pay.success"), "framework"},
		},
		unit: unitCase{removed: []string{"x-retry-count"}},
	}})
}

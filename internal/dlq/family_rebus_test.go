package dlq

import (
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestRebus(t *testing.T) {
	const details = "5 unhandled exceptions: System.ApplicationException: no account\n   at Shop.PayHandler.Handle()"
	testFamily(t, "rebus", []familyCase{
		{
			name: "several exceptions in one text", queue: "error",
			headers: rabbit.Table{
				"rbs2-error-details": details, "rbs2-source-queue": "shop.sales", "rbs2-msg-id": "m-1", "rbs2-msg-type": "Shop.PayOrder, Shop",
				"rbs2-delivery-count": "5", "x-delivery-count": int64(5),
			},
			want: Facts{
				Reason:     NoReason,
				Failure:    Failure{"System.ApplicationException", "5 unhandled exceptions: System.ApplicationException: no account", details, "rebus"},
				RetryCount: new(int64(5)), RetryCountSource: "framework",
				Original: Origin{Queue: "shop.sales", Evidence: "framework"},
			},
			unit: unitCase{removed: []string{"rbs2-delivery-count", "rbs2-error-details", "rbs2-source-queue", "x-delivery-count"}},
		},
		{
			name: "a word only, and a body kept elsewhere", queue: "error",
			headers: rabbit.Table{"rbs2-error-details": "moved by hand", "rbs2-source-queue": "shop.sales", "rbs2-payload-attachment-id": "a-1"},
			want: Facts{
				Reason: NoReason, Failure: Failure{Message: "moved by hand", Extractor: "rebus"},
				Original: Origin{Queue: "shop.sales", Evidence: "framework"},
			},
			unit: unitCase{removed: []string{"rbs2-error-details", "rbs2-source-queue"}, warnings: []string{WarnBodyElsewhere}},
		},
	})
}

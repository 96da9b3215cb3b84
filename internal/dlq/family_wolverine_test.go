package dlq

import (
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestWolverine(t *testing.T) {
	testFamily(t, "wolverine", []familyCase{
		{
			name: "native: a nack and no reason", queue: "wolverine-dead-letter-queue",
			headers: rabbit.Table{
				"message-type": "pay", "source": "shop", "destination": "rabbitmq://queue/sales", "sent-at": "2026-03-01 02:10:00:123456 Z", "attempts": "3",
				"x-death": []any{died("sales", "rejected", 1, hourAgo)},
			},
			want: Facts{
				Reason: Rejected, Failure: Failure{Extractor: "wolverine"},
				RetryCount: new(int64(3)), RetryCountSource: "framework",
				Original:    Origin{"sales", new("ex.pay"), new("pay.sales"), "x-death"},
				FirstDiedAt: hourAgo, DiedAt: hourAgo,
			},
			unit: unitCase{removed: []string{"attempts", "x-death"}},
		},
		{
			name: "enhanced, with a deadline that is over", queue: "wolverine-dead-letter-queue",
			headers: rabbit.Table{
				"exception-type": "System.TimeoutException", "exception-message": "no answer", "exception-stack": "   at Shop.Bank.Pay()",
				"failed-at": "1772331000123", "original-destination": "rabbitmq://queue/sales", "original-partition": "0", "original-offset": "0",
				"message-type": "pay", "source": "shop", "attempts": "3", "deliver-by": "2026-03-01T03:00:00Z",
			},
			want: Facts{
				Reason:     NoReason,
				Failure:    Failure{"System.TimeoutException", "no answer", "   at Shop.Bank.Pay()", "wolverine"},
				RetryCount: new(int64(3)), RetryCountSource: "framework",
				Original: Origin{Queue: "sales", Evidence: "framework"},
				DiedAt:   unixMilli(1772331000123),
			},
			unit: unitCase{
				removed: []string{
					"attempts", "exception-message", "exception-stack", "exception-type", "failed-at",
					"original-destination", "original-offset", "original-partition",
				},
				warnings: []string{WarnDeliverBy},
			},
		},
	})
}

func TestBrighter(t *testing.T) {
	testFamily(t, "brighter", []familyCase{{
		name: "rejected: its reason is in its log", queue: "q.dead",
		headers: rabbit.Table{
			"MessageType": "MT_COMMAND", "MessageId": "m-1", "Topic": "pay.order", "HandledCount": int32(3), "cloudEvents_id": "m-1", "x-original-message-id": "m-1",
			"x-death": []any{died("q.pay", "rejected", 1, hourAgo)},
		},
		want: Facts{
			Reason: Rejected, Failure: Failure{Extractor: "brighter"},
			RetryCount: new(int64(3)), RetryCountSource: "framework",
			Original:    Origin{"q.pay", new("ex.pay"), new("pay.q.pay"), "x-death"},
			FirstDiedAt: hourAgo, DiedAt: hourAgo,
		},
		unit: unitCase{removed: []string{"HandledCount", "x-death"}},
	}})
}

func TestCAP(t *testing.T) {
	testFamily(t, "cap", []familyCase{{
		name: "its failures are in its own tables", queue: "q.dead",
		headers: rabbit.Table{"cap-msg-id": "1", "cap-msg-name": "pay.order", "cap-msg-group": "shop.v1", "cap-senttime": "03/01/2026 02:10:00"},
		want:    Facts{Reason: NoReason, Failure: Failure{Extractor: "cap"}},
	}})
}

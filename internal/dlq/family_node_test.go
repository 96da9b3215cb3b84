package dlq

import (
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestRascal(t *testing.T) {
	table := func() rabbit.Table {
		return rabbit.Table{
			"originalQueue": "pay", "originalVhost": "/", "originalExchange": "ex.pay", "originalRoutingKey": "pay.success", "restoreRoutingHeaders": true,
			"redeliveries": int32(2),
			"recovery": rabbit.Table{
				"pay":   rabbit.Table{"immediateNack": true, "xDeath": rabbit.Table{"count": int64(1)}, "republished": int32(5), "own": "kept"},
				"other": rabbit.Table{"own": "kept"},
			},
			"error":      rabbit.Table{"message": "bank is busy", "code": "E_BUSY"},
			"encryption": rabbit.Table{"name": "well-known", "iv": "00", "originalContentType": "application/json"},
		}
	}
	mended := table()
	delete(mended, "error")
	mended["recovery"] = rabbit.Table{"pay": rabbit.Table{"own": "kept"}, "other": rabbit.Table{"own": "kept"}}
	testFamily(t, "rascal", []familyCase{
		{
			name: "with a flag that would nack it straight back, and an encrypted body", queue: "dead", body: "\x01\x02", headers: rabbit.Table{"rascal": table()},
			want: Facts{
				Reason: NoReason, Failure: Failure{Type: "E_BUSY", Message: "bank is busy", Extractor: "rascal"},
				RetryCount: new(int64(2)), RetryCountSource: "framework",
				Original: Origin{"pay", new("ex.pay"), new("pay.success"), "framework"},
			},
			unit: unitCase{edits: []string{EditRascal}, warnings: []string{WarnEncrypted}, headers: rabbit.Table{"rascal": mended}},
		},
		{
			name: "nothing of it is spent", queue: "dead", headers: rabbit.Table{"rascal": rabbit.Table{"originalQueue": "pay", "recovery": "odd"}},
			want: Facts{Reason: NoReason, Failure: Failure{Extractor: "rascal"}, Original: Origin{Queue: "pay", Evidence: "framework"}},
		},
	})
}

func TestNest(t *testing.T) {
	testFamily(t, "nest", []familyCase{{
		name: "a pattern that nobody handles", queue: "dead", body: `{"pattern":{"cmd":"pay"},"data":{"orderNo":"A-1"},"id":"9f"}`,
		headers: rabbit.Table{"x-death": []any{died("pay", "rejected", 1, hourAgo)}},
		want: Facts{
			Reason: Rejected, Failure: Failure{Extractor: "nest"}, RetryCount: new(int64(1)), RetryCountSource: "x-death",
			Original: Origin{"pay", new("ex.pay"), new("pay.pay"), "x-death"}, FirstDiedAt: hourAgo, DiedAt: hourAgo,
		},
		unit: unitCase{removed: []string{"x-death"}},
	}})
}

func TestWatermill(t *testing.T) {
	testFamily(t, "watermill", []familyCase{{
		name: "the poison queue; headers that are no strings would be refused", queue: "poison", body: `{"orderNo":"A-1"}`,
		headers: rabbit.Table{
			"reason_poisoned": "bank is busy", "topic_poisoned": "pay", "handler_poisoned": "payer", "subscriber_poisoned": "amqp", "_watermill_message_uuid": "9f",
			"tenant": "acme", "weight": int32(7), "x-death": []any{died("pay", "rejected", 1, hourAgo)},
		},
		want: Facts{
			Reason: Rejected, Failure: Failure{Message: "bank is busy", Extractor: "watermill"}, RetryCount: new(int64(1)), RetryCountSource: "x-death",
			Original: Origin{"pay", new("ex.pay"), new("pay.pay"), "framework"}, FirstDiedAt: hourAgo, DiedAt: hourAgo,
		},
		unit: unitCase{
			removed: []string{"handler_poisoned", "reason_poisoned", "subscriber_poisoned", "topic_poisoned", "weight", "x-death"},
			edits:   []string{EditStringsOnly},
		},
	}})
}

func TestDapr(t *testing.T) {
	const event = `{"data":{"orderNo":"A-1"},"datacontenttype":"application/json","id":"9f","pubsubname":"shop","source":"web","specversion":"1.0","topic":"pay","traceid":"00-1","type":"com.dapr.event.sent"}`
	testFamily(t, "dapr", []familyCase{
		{
			name: "a CloudEvent, nacked", queue: "dlq-shop-pay", body: event, headers: rabbit.Table{"x-death": []any{died("shop-pay", "rejected", 1, hourAgo)}},
			want: Facts{
				Reason: Rejected, Failure: Failure{Extractor: "dapr"}, RetryCount: new(int64(1)), RetryCountSource: "x-death",
				Original: Origin{"shop-pay", new("ex.pay"), new("pay.shop-pay"), "x-death"}, FirstDiedAt: hourAgo, DiedAt: hourAgo,
			},
			unit: unitCase{removed: []string{"x-death"}},
		},
		{
			name: "without a history", queue: "dlq-shop-pay", body: event,
			want: Facts{Reason: NoReason, Failure: Failure{Extractor: "dapr"}, Original: Origin{Queue: "shop-pay", Evidence: "queue-name"}},
		},
	})
}

package dlq

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestSymfony(t *testing.T) {
	const stamp = `X-Message-Stamp-Symfony\Component\Messenger\Stamp\`
	const php = `O:36:"Symfony\Component\Messenger\Envelope":2:{s:44:"\0Symfony\Component\Messenger\Envelope\0stamps";a:1:{s:61:"Symfony\Component\Messenger\Stamp\SentToFailureTransportStamp"`
	none := Facts{Reason: NoReason, Failure: Failure{Extractor: "symfony"}}
	testFamily(t, "symfony", []familyCase{
		{
			name: "stamps in headers", queue: "failed", body: `{"orderNo":"A-1"}`,
			headers: rabbit.Table{
				"type":                                `App\PayOrder`,
				stamp + "ErrorDetailsStamp":           `[{"exceptionClass":"App\\Old","exceptionMessage":"old"},{"exceptionClass":"App\\Busy","exceptionCode":7,"exceptionMessage":"bank is busy"}]`,
				stamp + "RedeliveryStamp":             `[{"retryCount":1,"redeliveredAt":"2026-03-01T02:00:00+00:00"},{"retryCount":3,"redeliveredAt":"2026-03-01T02:05:00+00:00"},{"retryCount":0,"redeliveredAt":"2026-03-01T02:10:00+00:00"}]`,
				stamp + "BusNameStamp":                `[{"busName":"messenger.bus.default"}]`,
				stamp + "DelayStamp":                  `[{"delay":1000}]`,
				stamp + "SentToFailureTransportStamp": `[{"originalReceiverName":"async"}]`,
			},
			want: Facts{
				Reason: NoReason, Failure: Failure{Type: `App\Busy`, Message: "bank is busy", Extractor: "symfony"},
				RetryCount: new(int64(3)), RetryCountSource: "framework", DiedAt: time.Date(2026, 3, 1, 2, 10, 0, 0, time.UTC),
			},
			unit: unitCase{removed: []string{stamp + "ErrorDetailsStamp", stamp + "RedeliveryStamp", stamp + "SentToFailureTransportStamp"}},
		},
		{
			name: "stamps that cannot be read", queue: "failed", headers: rabbit.Table{stamp + "ErrorDetailsStamp": `[`, "type": "T"},
			want: none, unit: unitCase{removed: []string{stamp + "ErrorDetailsStamp"}},
		},
		{
			name: "PhpSerializer: a second failure would be lost", queue: "failed", body: php, want: none,
			unit: unitCase{consents: []string{ConsentNextFailureLost}},
		},
		{
			name: "PhpSerializer, base64", queue: "failed", body: base64.StdEncoding.EncodeToString([]byte(php)), want: none,
			unit: unitCase{consents: []string{ConsentNextFailureLost}},
		},
		{
			name: "PhpSerializer with slashes, nacked on its way", queue: "dead", body: `O:36:\"Symfony\\Component\\Messenger\\Envelope\":2:{}`, want: none,
			unit: unitCase{warnings: []string{WarnPHPBody}},
		},
	})
}

func TestPHPEnqueue(t *testing.T) {
	testFamily(t, "php-enqueue", []familyCase{{
		name: "rejected", queue: "dead",
		headers: rabbit.Table{
			"enqueue.topic": "pay", "enqueue.processor": "pay", "enqueue.content_type": "application/json", "enqueue.redelivery_count": int32(4),
			"x-death": []any{died("enqueue.pay.5000.delayed", "expired", 4, hourAgo), died("enqueue.pay", "rejected", 1, hourAgo)},
		},
		want: Facts{
			Reason: Rejected, Failure: Failure{Extractor: "php-enqueue"}, RetryCount: new(int64(4)), RetryCountSource: "framework",
			Original: Origin{"enqueue.pay", new("ex.pay"), new("pay.enqueue.pay"), "x-death"}, FirstDiedAt: hourAgo,
		},
		unit: unitCase{removed: []string{"enqueue.redelivery_count", "x-death"}},
	}})
}

func TestLaravel(t *testing.T) {
	testFamily(t, "laravel", []familyCase{{
		name: "used up: its attempts go back to 0, and keep their type", queue: "dead",
		headers: rabbit.Table{"laravel": rabbit.Table{"attempts": int32(3), "other": "kept"}},
		want: Facts{
			Reason: NoReason, Failure: Failure{Extractor: "laravel"}, RetryCount: new(int64(3)), RetryCountSource: "framework",
		},
		unit: unitCase{
			edits: []string{EditLaravelAttempts}, headers: rabbit.Table{"laravel": rabbit.Table{"attempts": int32(0), "other": "kept"}},
		},
	}})
}

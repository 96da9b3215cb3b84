package dlq

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestSneakers(t *testing.T) {
	const info = `{"error":"reject","num_attempts":5,"failed_at":"2026-03-01T02:10:00Z","error_class":"Net::ReadTimeout","error_message":"bank is busy",` +
		`"backtrace":["pay.rb:7:in 'work'","worker.rb:1"],"properties":{"content_type":"application/json","delivery_mode":2,"priority":3,"message_id":"m-1",` +
		`"timestamp":"2026-03-01 01:00:00 +0000","headers":{"tenant":"acme","x-death":[{"count":5,"queue":"pay","reason":"rejected","exchange":"ex.pay","routing-keys":["pay.q"],"time":"2026-03-01 02:10:00 +0000"}]}}}`
	at := time.Date(2026, 3, 1, 2, 10, 0, 0, time.UTC)
	original := &rabbit.Properties{ContentType: "application/json", DeliveryMode: 2, Priority: 3, MessageID: "m-1", Timestamp: 1772326800}
	failure := Failure{Type: "Net::ReadTimeout", Message: "bank is busy", Stack: "pay.rb:7:in 'work'\nworker.rb:1", Extractor: "sneakers"}
	want := Facts{
		Reason: Rejected, Failure: failure, RetryCount: new(int64(5)), RetryCountSource: "framework",
		Original:    Origin{"pay", new("ex.pay"), new("pay.q"), "x-death"},
		FirstDiedAt: at, DiedAt: at,
	}
	b64 := base64.StdEncoding.EncodeToString
	testFamily(t, "sneakers", []familyCase{
		{
			name: "since 2018: one header has all the rest", queue: "pay-error", headers: rabbit.Table{"retry_info": info}, body: `{"orderNo":"A-1"}`,
			want: want,
			unit: unitCase{
				removed: []string{"retry_info", "x-death"}, edits: []string{EditRestored}, warnings: []string{WarnHeaderTypes},
				headers: rabbit.Table{"tenant": "acme"}, properties: original,
			},
		},
		{
			name: "died twice: the newest reason, the oldest properties", queue: "pay-error", body: "raw",
			headers: rabbit.Table{"retry_info": `[{"error":"timeout","num_attempts":6,"properties":{"headers":{"retry_info":"…"}}},{"num_attempts":5,"properties":{"message_id":"m-1","headers":{"tenant":"acme"}}}]`},
			want: Facts{
				Reason: NoReason, Failure: Failure{Message: "timeout", Extractor: "sneakers"}, RetryCount: new(int64(6)), RetryCountSource: "framework",
				Original: Origin{Queue: "pay", Evidence: "queue-name"},
			},
			unit: unitCase{
				removed: []string{"retry_info"}, edits: []string{EditRestored}, warnings: []string{WarnHeaderTypes},
				headers: rabbit.Table{"tenant": "acme"}, properties: &rabbit.Properties{MessageID: "m-1"},
			},
		},
		{
			name: "retry_info that cannot be read: it goes as it lies there", queue: "pay-error", headers: rabbit.Table{"retry_info": "{"}, body: "raw",
			want: Facts{Reason: NoReason, Failure: Failure{Extractor: "sneakers"}, Original: Origin{Queue: "pay", Evidence: "queue-name"}},
			unit: unitCase{removed: []string{"retry_info"}},
		},
		{
			name: "before 2018: an envelope", queue: "pay-error",
			body: `{"error":"timeout","num_attempts":5,"failed_at":"2026-03-01T02:10:00Z","payload":"` + b64([]byte("\x00\xffraw")) + `","backtrace":"pay.rb:7","error_class":"Busy","error_message":"bank is busy",` +
				`"properties":"` + b64([]byte(`{"message_id":"m-1","headers":{"tenant":"acme"}}`)) + `"}`,
			want: Facts{
				Reason: NoReason, Failure: Failure{"Busy", "bank is busy", "pay.rb:7", "sneakers"}, RetryCount: new(int64(5)), RetryCountSource: "framework",
				Original: Origin{Queue: "pay", Evidence: "queue-name"}, DiedAt: at,
			},
			unit: unitCase{
				edits: []string{EditUnwrapped, EditRestored}, warnings: []string{WarnHeaderTypes}, body: "\x00\xffraw",
				headers: rabbit.Table{"tenant": "acme"}, properties: &rabbit.Properties{MessageID: "m-1"},
			},
		},
		{
			name: "before 2017: an envelope without properties", queue: "pay-error", headers: rabbit.Table{"own": "1"}, properties: rabbit.Properties{DeliveryMode: 2},
			body: `{"error":"reject","num_attempts":5,"failed_at":"2026-03-01T02:10:00Z","payload":"` + b64([]byte("raw")) + `"}`,
			want: Facts{
				Reason: NoReason, Failure: Failure{Message: "reject", Extractor: "sneakers"}, RetryCount: new(int64(5)), RetryCountSource: "framework",
				Original: Origin{Queue: "pay", Evidence: "queue-name"}, DiedAt: at,
			},
			unit: unitCase{edits: []string{EditUnwrapped}, warnings: []string{WarnNoProperties}, body: "raw"},
		},
		{
			name: "an envelope whose payload is no base64", queue: "pay-error",
			body: `{"error":"reject","num_attempts":5,"failed_at":"2026-03-01T02:10:00Z","payload":"%%"}`,
			want: Facts{
				Reason: NoReason, Failure: Failure{Message: "reject", Extractor: "sneakers"}, RetryCount: new(int64(5)), RetryCountSource: "framework",
				Original: Origin{Queue: "pay", Evidence: "queue-name"}, DiedAt: at,
			},
			unit: unitCase{problem: ProblemNoMessage},
		},
	})
}

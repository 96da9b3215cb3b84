package dlq

import (
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestDramatiq(t *testing.T) {
	const trace = "Traceback (most recent call last):\n  File \"pay.py\", line 7, in pay\n    raise Busy(order)\nshop.Busy: bank is busy"
	dead := rabbit.Table{"x-death": []any{died("pay", "rejected", 1, hourAgo)}}
	facts := func(failure Failure, retries *int64, source string) Facts {
		failure.Extractor = "dramatiq"
		return Facts{
			Reason: Rejected, Failure: failure, RetryCount: retries, RetryCountSource: source,
			Original:    Origin{"pay", new("ex.pay"), new("pay.pay"), "framework"},
			FirstDiedAt: hourAgo, DiedAt: hourAgo,
		}
	}
	testFamily(t, "dramatiq", []familyCase{
		{
			name: "its body tells of the attempt before, and is edited", queue: "pay.XQ", headers: dead,
			body: `{"queue_name":"pay.DQ","actor_name":"pay","args":["A-1", 1.50],"kwargs":{},"options":{"retries":20,"max_retries":20,"traceback":"Traceback (most recent call last):\n  File \"pay.py\", line 7, in pay\n    raise Busy(order)\nshop.Busy: bank is busy","eta":1772331000000,"keep": 1e3},"message_id":"m-1","message_timestamp":1772330000000}`,
			want: facts(Failure{Type: "shop.Busy", Message: "bank is busy", Stack: trace}, new(int64(20)), "framework"),
			unit: unitCase{
				removed: []string{"x-death"}, edits: []string{EditDramatiqOptions, EditDramatiqQueue}, consents: []string{ConsentEditBody},
				body: `{"queue_name":"pay","actor_name":"pay","args":["A-1", 1.50],"kwargs":{},"options":{"max_retries":20,"keep": 1e3},"message_id":"m-1","message_timestamp":1772330000000}`,
			},
		},
		{
			name: "never tried before: nothing to edit", queue: "pay.XQ", headers: dead,
			body: `{"queue_name":"pay","actor_name":"pay","args":[],"kwargs":{},"options":{},"message_id":"m-1","message_timestamp":1}`,
			want: facts(Failure{}, new(int64(1)), "x-death"), unit: unitCase{removed: []string{"x-death"}},
		},
		{
			name: "names written with escapes, and twice", queue: "pay.XQ", headers: dead,
			body: `{"queue_name":"x","options":{"r\u0065tries":1,"retries":2},"actor_name":"pay","message_id":"m","queue_name":"pay.XQ"}`,
			want: facts(Failure{}, new(int64(2)), "framework"),
			unit: unitCase{
				removed: []string{"x-death"}, edits: []string{EditDramatiqOptions, EditDramatiqQueue}, consents: []string{ConsentEditBody},
				body: `{"queue_name":"x","options":{},"actor_name":"pay","message_id":"m","queue_name":"pay"}`,
			},
		},
	})
}

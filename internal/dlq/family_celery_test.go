package dlq

import (
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestCelery(t *testing.T) {
	headers := func(expires any) rabbit.Table {
		return rabbit.Table{
			"lang": "py", "task": "shop.pay", "id": "9f-1", "root_id": "9f-1", "parent_id": nil, "group": nil, "retries": int32(2), "eta": nil, "expires": expires,
			"timelimit": []any{nil, nil}, "argsrepr": "('A-1',)", "kwargsrepr": "{}", "origin": "gen1@web-1", "ignore_result": false,
			"x-death": []any{
				died("celery_delayed_4", "expired", 1, hourAgo), died("celery_delayed_2", "expired", 1, hourAgo), died("celery", "rejected", 1, hourAgo),
			},
		}
	}
	want := Facts{
		Reason: Rejected, Failure: Failure{Extractor: "celery"},
		RetryCount: new(int64(2)), RetryCountSource: "framework",
		Original:    Origin{"celery", new("ex.pay"), new("pay.celery"), "x-death"},
		FirstDiedAt: hourAgo, DiedAt: hourAgo,
	}
	testFamily(t, "celery", []familyCase{
		{
			name: "rejected after native delays; the reason is in the result backend", queue: "dead", headers: headers(nil),
			body: `[["A-1"],{},{"callbacks":null}]`, want: want, unit: unitCase{removed: []string{"x-death"}},
		},
		{
			name: "expired by now: a worker would revoke it", queue: "dead", headers: headers("2026-03-01T02:00:00+00:00"),
			want: want, unit: unitCase{removed: []string{"x-death"}, warnings: []string{WarnExpires}},
		},
	})
}

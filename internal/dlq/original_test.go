package dlq

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
)

func TestAnOperatorSaysWhereAMessageBelongs(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	store := NewStore(pool)
	id, _, back := replayed(t, pool, Replayed)
	act := Act{Actor: "ada", From: "192.0.2.1", Reason: "the queue was renamed", At: arrival}
	word := Origin{Queue: "q.new", RoutingKey: new("pay.success")}
	if err := store.SetOriginal(t.Context(), id, word, act); err != nil {
		t.Fatal(err)
	}
	word.Evidence = OriginOperator
	m, err := store.Message(t.Context(), id)
	if diff := cmp.Diff(word, m.Original); diff != "" || err != nil {
		t.Errorf("origin (-want +got): %v\n%s", err, diff)
	}
	page, err := audit.NewLog(pool).List(t.Context(), audit.Filter{Object: "message " + id, Limit: 10})
	if err != nil || len(page.Entries) != 1 {
		t.Fatalf("audit %+v (%v), want one entry", page, err)
	}
	if e := page.Entries[0]; e.Act != "original" || e.Actor != "ada" || e.Reason != act.Reason || e.Result != `queue q.new, routing key "pay.success"` {
		t.Errorf("audit %+v", e)
	}

	// In its next life the word stands, whatever the evidence says.
	back.Headers["x-original-queue"] = "q.pay"
	running(t, DrainOptions{URL: v.URL, Pool: pool, Returns: &noter{}})
	send(t, v, back)
	poll.Until(t, patience, func() error {
		m, err := store.Message(t.Context(), id)
		if err == nil && (m.Round != 2 || !cmp.Equal(m.Original, word)) {
			err = fmt.Errorf("message %+v", m)
		}
		return err
	})
}

func TestWhereAMessageBelongsIsNotSaidWhileItIsBeingSent(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := NewStore(pool)
	id, _, _ := replayed(t, pool, Replaying)
	act := Act{Actor: "ada", Reason: "x", At: time.Now()}
	if err := store.SetOriginal(t.Context(), id, Origin{Queue: "q.new"}, act); !errors.Is(err, ErrBadState) {
		t.Errorf("answer %v, want %v", err, ErrBadState)
	}
	for _, id := range []string{uuid.NewString(), "nonsense"} {
		if err := store.SetOriginal(t.Context(), id, Origin{Queue: "q.new"}, act); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: answer %v, want %v", id, err, ErrNotFound)
		}
	}
	if n := number(t, pool, "SELECT count(*) FROM audit"); n != 0 {
		t.Errorf("%d audit entries, want none", n)
	}
}

func TestOriginIsNotTheOrderOfEntries(t *testing.T) {
	t.Parallel()
	entry := func(queue, reason string) rabbit.Table { return died(queue, reason, 1, arrival) }
	tests := []struct {
		name   string
		queue  string
		deaths any
		more   rabbit.Table
		want   string
		by     string
	}{
		{"a wait queue before the consumer's", "q.t", []any{entry("q.pay.wait", "expired"), entry("q.pay", "rejected")}, nil, "q.pay", OriginXDeath},
		{"and behind it", "q.t", []any{entry("q.pay", "rejected"), entry("q.pay.wait", "expired")}, nil, "q.pay", OriginXDeath},
		{"a queue that expires and refuses", "q.t", []any{entry("q.pay", "expired"), entry("q.pay", "rejected")}, nil, "q.pay", OriginXDeath},
		{"several hops: where it was refused last", "q.t", []any{entry("q.second", "rejected"), entry("q.first", "rejected")}, nil, "q.second", OriginXDeath},
		{"several queues let it expire: none is proven", "q.t", []any{entry("q.a", "expired"), entry("q.b", "expired")}, nil, "", ""},
		{"a limit of length beside a wait", "q.t", []any{entry("q.a", "expired"), entry("q.b", "maxlen")}, nil, "q.b", OriginXDeath},
		{"wait queues only: whoever consumed left no trace", "q.t", []any{entry("q.wait.1m", "expired"), entry("q.wait.5s", "expired")}, nil, "", ""},
		{"the same, and a name that tells", "q.pay-error", []any{entry("q.wait.1m", "expired"), entry("q.wait.5s", "expired")}, nil, "q.pay", OriginQueueName},
		{"one entry without its array", "q.t", entry("q.pay", "rejected"), nil, "q.pay", OriginXDeath},
		{"elements that are no tables", "q.t", []any{"x", nil, entry("q.pay", "rejected"), int64(3)}, nil, "q.pay", OriginXDeath},
		{"a history made of text", "q.t", "[map[queue:q.pay]]", nil, "", ""},
		{"no history, the broker's last death", "q.t", nil, rabbit.Table{"x-last-death-queue": "q.pay", "x-last-death-reason": "rejected", "x-first-death-queue": "q.old"}, "q.pay", OriginXDeath},
		{"no history, the last death was a wait", "q.t", nil, rabbit.Table{"x-last-death-queue": "q.wait", "x-last-death-reason": "expired", "x-first-death-queue": "q.pay"}, "q.pay", OriginXDeath},
		{"a header that names the terminal queue", "q.t", nil, rabbit.Table{"x-original-queue": "q.t"}, "", ""},
		{"MassTransit's name", "pay_error", nil, nil, "pay", OriginQueueName},
		{"its other one", "pay_skipped", nil, nil, "pay", OriginQueueName},
		{"Dramatiq's", "pay.XQ", nil, nil, "pay", OriginQueueName},
		{"the binder's", "orders.billing.dlq", nil, nil, "orders.billing", OriginQueueName},
		{"not the binder's: no group", "orders.dlq", nil, nil, "", ""},
		{"no name that tells", "error", nil, nil, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := rabbit.Table{}
			maps.Copy(h, tt.more)
			if tt.deaths != nil {
				h["x-death"] = tt.deaths
			}
			o := Extract(rabbit.Delivery{Headers: h}, Source{Queue: tt.queue}, arrival).Original
			if o.Queue != tt.want || o.Evidence != tt.by {
				t.Errorf("%q by %q, want %q by %q", o.Queue, o.Evidence, tt.want, tt.by)
			}
		})
	}
}

func TestTimesThatCannotBeAreSaidAndCountAsUnknown(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 2, 10, 0, 0, time.UTC)
	for _, tt := range []struct {
		value any
		want  moment
	}{
		{at, moment{at: at}},
		{time.Unix(0, 0), moment{said: "1970-01-01T00:00:00Z"}},
		{time.Unix(at.UnixMilli(), 0), moment{said: "1772331000000 s"}}, // milliseconds in a field for seconds
		{arrival.Add(8 * time.Hour), moment{said: "2026-03-01T11:10:00Z"}},
		{arrival.Add(time.Minute), moment{at: arrival.Add(time.Minute)}}, // clocks differ a little
		{"2026-03-01T02:10:00Z", moment{at: at}},
		{"2026-03-01T10:10:00+08:00", moment{at: at}},
		{"2026-03-01T02:10:00", moment{at: at}},
		{"2026-03-01 02:10:00:000000 Z", moment{at: at}},
		{"2026-03-01 02:10:00 +0000", moment{at: at}},
		{"2026-03-01 02:10:00 UTC", moment{at: at}},
		{"1772331000000", moment{at: at}},
		{int64(1772331000000), moment{at: at}},
		{int32(1772331000), moment{at: at}},
		{"yesterday", moment{said: "yesterday"}},
		{"", moment{}},
		{nil, moment{}},
		{true, moment{}},
		{time.Time{}, moment{}},
	} {
		if got := momentOf(tt.value, arrival); !got.at.Equal(tt.want.at) || got.said != tt.want.said {
			t.Errorf("%v: %+v, want %+v", tt.value, got, tt.want)
		}
	}
}

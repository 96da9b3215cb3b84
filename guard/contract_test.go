package guard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/guard"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
)

func replayed(messageID string) amqp.Table {
	return amqp.Table{"dlo-message-id": messageID, "dlo-replay-id": "7", "dlo-round": "1"}
}

func TestChecksAreCountedByTheMinuteWithoutReplays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := time.Date(2026, 9, 28, 10, 0, 12, 0, time.FixedZone("CST", 8*3600))
	r.o.Now = func() time.Time { return at }
	r.o.Concurrency = 1
	for _, order := range []string{"P1", "P1", "P1", "P2"} {
		r.publish(t, order, nil)
	}
	r.publish(t, "P3", replayed("m3"))
	acquire(t, r.o.Keys, "P4", guard.First) // an unfinished run is neither
	r.publish(t, "P4", nil)
	stop := r.start(t)
	r.waitEvent(t, guard.EventChecked, "HELD")
	stop()
	const key = "dlo:checks:pay-success:202609280200" // in UTC
	if diff := cmp.Diff(map[string]string{"first": "2", "duplicate": "2"}, r.client.HGetAll(t.Context(), key).Val()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if left := r.client.TTL(t.Context(), key).Val(); left <= 119*time.Minute || left > 2*time.Hour {
		t.Errorf("the counts expire in %v, want two hours", left)
	}
}

func TestOutcomesOfReplaysAreReported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Concurrency = 1
	r.o.Ladder.Max = 1
	at := time.Date(2026, 9, 28, 10, 0, 12, 5, time.UTC)
	r.o.Now = func() time.Time { return at }
	r.say = func(_ context.Context, _ amqp.Delivery, businessKey string) error {
		return map[string]error{
			"duplicate": guard.Duplicate("account flow"),
			"refused":   guard.Refused("order state", guard.Typed("ILLEGAL_ORDER_STATUS", errors.New("REFUNDED"))),
			"failed":    errBank,
		}[businessKey]
	}
	for _, order := range []string{"fine", "fine", "duplicate", "refused", "failed"} {
		r.publish(t, order, replayed("m-"+order))
	}
	r.publish(t, "other", nil)                                   // no replay
	r.publish(t, "half", amqp.Table{"dlo-message-id": "m-half"}) // no replay either
	stop := r.start(t)
	poll.True(t, soon, "the last key marked", func() bool { return r.value(t, "half") == "SUCCESS" })
	stop()
	want := []string{
		"m-fine processed ", "m-fine duplicate key", "m-duplicate duplicate account flow",
		"m-refused guard_refused order state: ILLEGAL_ORDER_STATUS", "m-failed failed failed run 1 of 1: BANK_TIMEOUT",
	}
	var got []string
	for _, entry := range r.client.XRange(t.Context(), "dlo:outcomes", "-", "+").Val() {
		v := entry.Values
		got = append(got, fmt.Sprintf("%v %v %v", v["message_id"], v["outcome"], v["detail"]))
		if v["replay_id"] != "7" || v["at"] != "2026-09-28T10:00:12.000000005Z" || len(v) != 5 {
			t.Errorf("entry %v", v)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

func TestReportsThatCannotBeWrittenHarmNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, key := range []string{"dlo:outcomes", "dlo:checks:pay-success:" + time.Now().UTC().Format("200601021504")} {
		if err := r.client.Set(t.Context(), key, "in the way", time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	}
	r.publish(t, "P1", replayed("m1"))
	stop := r.start(t)
	r.waitEvent(t, guard.EventDegraded, "an outcome was not reported")
	r.drained(t, stop)
	if r.ran() != 1 || r.value(t, "P1") != "SUCCESS" {
		t.Errorf("%d runs, key %q", r.ran(), r.value(t, "P1"))
	}
}

func TestMetricsAreThereFromTheStartAndCount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reg := prometheus.NewRegistry()
	r.o.Registerer, r.o.Concurrency, r.o.Ladder.Max = reg, 1, 1
	r.say = func(_ context.Context, _ amqp.Delivery, businessKey string) error {
		return map[string]error{
			"duplicate": guard.Duplicate("account flow"),
			"refused":   guard.Refused("order state", errors.New("x")),
			"unknown":   guard.Duplicate("a guard that Guards does not name"),
			"failed":    errBank,
		}[businessKey]
	}
	for _, order := range []string{"fine", "fine", "duplicate", "refused", "unknown", "failed"} {
		r.publish(t, order, nil)
	}
	r.publish(t, "last", replayed("m"))
	if _, err := guard.New(r.o); err != nil { // another consumer of the same process
		t.Fatal(err)
	}
	if n := testutil.CollectAndCount(reg, "dlo_guard_checks_total"); n != 2*(4+3*3) {
		t.Errorf("%d series before anything happened", n)
	}
	stop := r.start(t)
	poll.True(t, soon, "the last key marked", func() bool { return r.value(t, "last") == "SUCCESS" })
	stop()
	const want = `
		# HELP dlo_guard_checks_total Answers of a consumer's guards to deliveries.
		# TYPE dlo_guard_checks_total counter
		dlo_guard_checks_total{consumer="pay-success",guard="account flow",replayed="false",result="duplicate"} 1
		dlo_guard_checks_total{consumer="pay-success",guard="account flow",replayed="false",result="first"} 1
		dlo_guard_checks_total{consumer="pay-success",guard="account flow",replayed="false",result="refused"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="account flow",replayed="true",result="duplicate"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="account flow",replayed="true",result="first"} 1
		dlo_guard_checks_total{consumer="pay-success",guard="account flow",replayed="true",result="refused"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="key",replayed="false",result="duplicate"} 1
		dlo_guard_checks_total{consumer="pay-success",guard="key",replayed="false",result="first"} 5
		dlo_guard_checks_total{consumer="pay-success",guard="key",replayed="false",result="held"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="key",replayed="false",result="unavailable"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="key",replayed="true",result="duplicate"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="key",replayed="true",result="first"} 1
		dlo_guard_checks_total{consumer="pay-success",guard="key",replayed="true",result="held"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="key",replayed="true",result="unavailable"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="order state",replayed="false",result="duplicate"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="order state",replayed="false",result="first"} 2
		dlo_guard_checks_total{consumer="pay-success",guard="order state",replayed="false",result="refused"} 1
		dlo_guard_checks_total{consumer="pay-success",guard="order state",replayed="true",result="duplicate"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="order state",replayed="true",result="first"} 1
		dlo_guard_checks_total{consumer="pay-success",guard="order state",replayed="true",result="refused"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="other",replayed="false",result="duplicate"} 1
		dlo_guard_checks_total{consumer="pay-success",guard="other",replayed="false",result="first"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="other",replayed="false",result="refused"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="other",replayed="true",result="duplicate"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="other",replayed="true",result="first"} 0
		dlo_guard_checks_total{consumer="pay-success",guard="other",replayed="true",result="refused"} 0
	`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "dlo_guard_checks_total"); err != nil {
		t.Error(err)
	}
}

func TestWrongOptionsAreAllNamed(t *testing.T) {
	t.Parallel()
	_, err := guard.New(guard.Options{URL: "http://user:hunter2@host/", Fallback: "sometimes", Prefetch: -1})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"URL", "Queue", "Name", "BusinessKey", "Handle", "sometimes", "below zero", "terminal"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named in:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Error("the error tells the password")
	}
}

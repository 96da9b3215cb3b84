package guard_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/guard"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
)

func TestSuccessMarksTheKeyAndAcks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.publish(t, "P1", nil)
	stop := r.start(t)
	poll.True(t, soon, "the key marked", func() bool { return r.value(t, "P1") == "SUCCESS" })
	r.drained(t, stop)
	if n := r.ran(); n != 1 {
		t.Errorf("%d runs", n)
	}
}

func TestAnotherMessageIdIsStillADuplicate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Concurrency = 1
	for range 3 {
		r.publish(t, "P1", nil)
	}
	r.publish(t, "P2", nil) // another order of the same producer is none
	stop := r.start(t)
	r.waitRuns(t, 2)
	poll.True(t, soon, "the second order marked", func() bool { return r.value(t, "P2") == "SUCCESS" })
	r.drained(t, stop)
	if diff := cmp.Diff([]string{"P1", "P2"}, r.runs); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if !r.log.has(guard.EventSkipped, `"guard":"key"`) {
		t.Error("no line says that the key skipped it")
	}
}

func TestADuplicateOfTheHandlersGuardIsASuccess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.say = func(context.Context, amqp.Delivery, string) error { return guard.Duplicate("order state") }
	r.publish(t, "P1", nil)
	stop := r.start(t)
	r.waitEvent(t, guard.EventSkipped, `"guard":"order state"`)
	r.drained(t, stop)
	if got := r.value(t, "P1"); got != "SUCCESS" {
		t.Errorf("the key says %q", got)
	}
}

func TestFailureClimbsTierByTierToTheTerminalQueue(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// What x-death says of a ladder depends on the broker's version: look at the
	// exchange that leads to its tiers.
	r.v.Queue(t, "q.spy", nil)
	for _, key := range []string{"wait0", "wait1", "wait2", "terminal"} {
		r.v.Bind(t, "q.spy", key, "ex.pay.dlx")
	}
	r.say = func(context.Context, amqp.Delivery, string) error { return errBank }
	r.publish(t, "P1", amqp.Table{"x-trace": int16(7)})
	stop := r.start(t)
	d := r.dead(t)
	stop()
	if n := r.ran(); n != 5 {
		t.Errorf("%d runs, want 5", n)
	}
	var climbed []string
	for got, ok := r.v.Get(t, "q.spy"); ok; got, ok = r.v.Get(t, "q.spy") {
		climbed = append(climbed, got.RoutingKey)
	}
	if diff := cmp.Diff([]string{"wait0", "wait1", "wait2", "wait2", "terminal"}, climbed); diff != "" {
		t.Errorf("went to (-want +got):\n%s", diff)
	}
	for name, want := range map[string]any{
		"x-retry-count": int64(5), "x-original-queue": queue, "x-original-exchange": "ex.pay", "x-original-routingKey": "pay.success",
		"x-exception-type": "BANK_TIMEOUT", "x-exception-message": "the bank did not answer", "x-trace": int16(7),
	} {
		if d.Headers[name] != want {
			t.Errorf("%s is %v (%[2]T), want %v", name, d.Headers[name], want)
		}
	}
	if got := string(d.Body); got != `{"orderNo":"P1","secret":"hunter2"}` || d.MessageId == "" {
		t.Errorf("body %s, id %q", got, d.MessageId)
	}
	if got := r.value(t, "P1"); got != "" {
		t.Errorf("the key is still there: %s", got)
	}
}

// H6: the key is released before its message can come back, or the next run
// would be taken for a duplicate.
func TestH6AFailedRunIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	for _, style := range styles {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.o.Keys = newKeys(t, r.client, guard.KeyOptions{Style: style})
			var runs atomic.Int32
			r.say = func(context.Context, amqp.Delivery, string) error {
				if runs.Add(1) < 3 {
					return errBank
				}
				return nil
			}
			r.publish(t, "P1", nil)
			stop := r.start(t)
			r.waitRuns(t, 3)
			r.drained(t, stop)
			if n := runs.Load(); n != 3 {
				t.Errorf("%d runs, want 3", n)
			}
		})
	}
}

func TestUnrecoverableGoesStraightToTheTerminalQueue(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"unrecoverable":      guard.Unrecoverable(guard.Typed("BAD_MESSAGE", errors.New("x"))),
		"refused by a guard": guard.Refused("order state", guard.Typed("BAD_MESSAGE", errors.New("x"))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.say = func(context.Context, amqp.Delivery, string) error { return err }
			r.publish(t, "P1", nil)
			stop := r.start(t)
			d := r.dead(t)
			stop()
			if r.ran() != 1 || d.Headers["x-retry-count"] != int64(1) || d.Headers["x-exception-type"] != "BAD_MESSAGE" || d.Headers["x-death"] != nil {
				t.Errorf("%d runs, headers %v", r.ran(), d.Headers)
			}
			if got := r.value(t, "P1"); got != "" {
				t.Errorf("the key is still there: %s", got)
			}
		})
	}
}

// What a killed consumer leaves: the message climbs and dies, and is never
// acked as if it were done.
func TestAKeyHeldByAnotherRunClimbsTheLadder(t *testing.T) {
	t.Parallel()
	for _, style := range []guard.Style{guard.Status, guard.Hash} {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.o.Keys = newKeys(t, r.client, guard.KeyOptions{Style: style})
			killed := acquire(t, r.o.Keys, "P1", guard.First)
			r.publish(t, "P1", nil)
			stop := r.start(t)
			d := r.dead(t)
			stop()
			if r.ran() != 0 || d.Headers["x-retry-count"] != int64(5) || d.Headers["x-exception-type"] != guard.TypeKeyHeld {
				t.Errorf("%d runs, headers %v", r.ran(), d.Headers)
			}
			mustBe(t, guard.Marked)(r.o.Keys.MarkSuccess(t.Context(), killed)) // it was left alone
		})
	}
}

// H7: with a flag, what a killed consumer left is taken for a duplicate and
// acked. This is the loss that the package doc warns of.
func TestH7AFlagLosesWhatAKilledConsumerLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Keys = newKeys(t, r.client, guard.KeyOptions{Style: guard.Flag})
	acquire(t, r.o.Keys, "P1", guard.First)
	r.publish(t, "P1", nil)
	stop := r.start(t)
	r.waitEvent(t, guard.EventSkipped, "P1")
	r.drained(t, stop)
	if n := r.ran(); n != 0 {
		t.Errorf("%d runs", n)
	}
}

func TestAKeyThatCannotBeReadClimbsTheLadder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if err := r.client.HSet(t.Context(), r.keyOf("P1"), "a", "b").Err(); err != nil {
		t.Fatal(err)
	}
	r.publish(t, "P1", nil)
	stop := r.start(t)
	d := r.dead(t)
	stop()
	if r.ran() != 0 || d.Headers["x-exception-type"] != guard.TypeKeyUnreadable {
		t.Errorf("%d runs, headers %v", r.ran(), d.Headers)
	}
}

// H3: the articles' template acked what had been tried too often.
func TestH3TooManyRunsIsTerminalAndNeverAcked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.say = func(context.Context, amqp.Delivery, string) error { return errBank }
	r.publish(t, "P1", amqp.Table{"x-retry-count": int32(9)})
	stop := r.start(t)
	d := r.dead(t)
	stop()
	if got := d.Headers["x-retry-count"]; got != int64(10) || r.ran() != 1 {
		t.Errorf("x-retry-count %v, %d runs", got, r.ran())
	}
}

func TestWithoutABusinessKeyItIsTerminal(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"empty": `{"orderNo":""}`, "no JSON": "\xff"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.v.Publish(t, "ex.pay", "pay.success", amqp.Publishing{MessageId: "never-a-key", Body: []byte(body)})
			stop := r.start(t)
			d := r.dead(t)
			stop()
			if r.ran() != 0 || d.Headers["x-exception-type"] != guard.TypeNoBusinessKey || string(d.Body) != body {
				t.Errorf("%d runs, headers %v, body %q", r.ran(), d.Headers, d.Body)
			}
			if n := r.client.Exists(t.Context(), r.keyOf("never-a-key"), r.keyOf("")).Val(); n != 0 {
				t.Error("a key was made")
			}
		})
	}
}

func TestAPanicIsAFailedRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.say = func(_ context.Context, _ amqp.Delivery, businessKey string) error {
		if businessKey == "P1" {
			panic("no such luck")
		}
		return nil
	}
	r.publish(t, "P1", nil)
	r.publish(t, "P2", nil)
	stop := r.start(t)
	d := r.dead(t)
	stop()
	if d.Headers["x-exception-type"] != guard.TypePanic || d.Headers["x-retry-count"] != int64(5) {
		t.Errorf("headers %v", d.Headers)
	}
	if got := r.value(t, "P2"); got != "SUCCESS" {
		t.Errorf("the other message suffered: its key says %q", got)
	}
}

// H13, H20: a late step that fails does not undo what was done, and does not
// free the key.
func TestH20ALateStepThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]func() error{
		"error": func() error { return errors.New("no notice") },
		"panic": func() error { panic("no notice") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var lates atomic.Int32
			r.o.After = func(context.Context, amqp.Delivery, string) error {
				lates.Add(1)
				return late()
			}
			r.publish(t, "P1", nil)
			r.publish(t, "P1", nil)
			r.o.Concurrency = 1
			stop := r.start(t)
			r.waitEvent(t, guard.EventSkipped, "P1")
			r.drained(t, stop)
			if r.ran() != 1 || lates.Load() != 1 || r.value(t, "P1") != "SUCCESS" {
				t.Errorf("%d runs, %d late steps, key %q", r.ran(), lates.Load(), r.value(t, "P1"))
			}
		})
	}
}

// H19: tries within one delivery do happen, and count as one run.
func TestH19TriesWithinOneDelivery(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Tries, r.o.TryDelay = 3, 10*time.Millisecond
	r.say = func(context.Context, amqp.Delivery, string) error {
		if r.ran() < 5 {
			return errBank
		}
		return guard.Unrecoverable(errBank) // not tried again
	}
	r.publish(t, "P1", nil)
	stop := r.start(t)
	d := r.dead(t)
	stop()
	if got := d.Headers["x-retry-count"]; got != int64(2) || r.ran() != 5 {
		t.Errorf("x-retry-count %v after %d tries, want 2 after 5", got, r.ran())
	}
}

func TestARunThatTakesTooLongFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Timeout, r.o.Ladder.Max = 20*time.Millisecond, 1
	r.say = func(ctx context.Context, _ amqp.Delivery, _ string) error {
		<-ctx.Done()
		return guard.Typed("SLOW", ctx.Err())
	}
	r.publish(t, "P1", nil)
	stop := r.start(t)
	d := r.dead(t)
	stop()
	if got := d.Headers["x-exception-type"]; got != "SLOW" {
		t.Errorf("x-exception-type %v", got)
	}
}

func TestWithoutKeysEveryDeliveryRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Keys = nil
	r.publish(t, "P1", nil)
	r.publish(t, "P1", nil)
	stop := r.start(t)
	r.waitRuns(t, 2)
	r.drained(t, stop)
}

// The five kinds of line that a team watches for, and no body in any of them.
func TestLogsHaveFixedEventsAndNoBodies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Concurrency = 1
	r.o.Ladder.Max = 1
	r.say = func(_ context.Context, _ amqp.Delivery, businessKey string) error {
		if businessKey == "P2" {
			return errBank
		}
		return nil
	}
	r.publish(t, "P1", nil)
	r.publish(t, "P1", nil)
	r.publish(t, "P2", nil)
	stop := r.start(t)
	r.dead(t)
	stop()
	for _, want := range []struct{ event, part string }{
		{guard.EventKeyAcquired, `"ttl":86400000000000`},
		{guard.EventChecked, `"result":"FIRST"`},
		{guard.EventChecked, `"result":"DUPLICATE"`},
		{guard.EventSkipped, `"guard":"key"`},
		{guard.EventKeyCleared, `"result":"released"`},
		{guard.EventRunFailed, `"type":"BANK_TIMEOUT"`},
	} {
		if !r.log.has(want.event, want.part) {
			t.Errorf("no line %s with %s", want.event, want.part)
		}
	}
	if strings.Contains(r.log.String(), "hunter2") {
		t.Error("a body was logged")
	}
}

package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
)

// TestStory is the acceptance story: the whole main job on real services, with
// real crashes. Its steps build on each other. The steps for alerting and
// scanning are not here: this version does neither.
func TestStory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	consumer := w.consume(t)
	c := w.console(t, "status")

	// 1. A payment that goes well is charged once and never dies.
	w.pay(t, "P-HAPPY")
	w.awaitPaid(t, "P-HAPPY")

	// 2. The producer sends it again with another message id: a duplicate, acked.
	w.paydemo(t, "produce", "-count", "1", "-order", "P-HAPPY", "-again")
	w.awaitEmpty(t)
	if n := w.charges(t, "P-HAPPY"); n != 1 {
		t.Fatalf("P-HAPPY was charged %d times", n)
	}

	// 3. The bank is down: three tiers, five runs, the terminal queue, the console.
	w.paydemo(t, "set", "bank=down")
	w.pay(t, "P-BANK")
	w.pay(t, "P-LATER")
	bank := w.awaitDead(t, c, "P-BANK", isOpen)
	w.awaitDead(t, c, "P-LATER", isOpen)
	checkBankDeath(t, bank)
	checkBody(t, c, bank)
	w.paydemo(t, "set", "bank=up")
	if p := c.preflight(t, bank.ID); p.Verdict != "will_run" || p.Destination.Queue != workQueue {
		t.Fatalf("preflight of P-BANK: %+v, want will_run to %s", p, workQueue)
	}
	if item := c.replay(t, bank.ID, map[string]any{"reason": "the bank is back"}); *item.Outcome != "processed" {
		t.Fatalf("outcome of P-BANK: %s by %s, want processed", *item.Outcome, *item.OutcomeSource)
	}
	w.awaitDead(t, c, "P-BANK", isResolved)
	if got, n := w.status(t, "P-BANK"), w.charges(t, "P-BANK"); got != "PAID" || n != 1 {
		t.Fatalf("P-BANK is %s with %d charges, want PAID with 1", got, n)
	}

	// 4. A consumer is killed with the key taken and nothing done. Each redelivery
	// meets the key, climbs the ladder and dies, with the key still there.
	w.pay(t, "P-STALE", "-fault", "crash_after_key")
	consumer.wait(t)
	consumer = w.consume(t)
	stale := w.awaitDead(t, c, "P-STALE", isOpen)
	refusesWhileYoung(t, c, stale.ID)
	awaitVerdict(t, c, stale.ID, "stale_key")
	c.refuses(t, "/messages/"+stale.ID+"/replay", map[string]any{"reason": "without the key"}, http.StatusConflict, "not_sent")
	k := c.key(t, keyOf("P-STALE"))
	if !k.Stuck || k.State != "processing" {
		t.Fatalf("key of P-STALE: %+v, want it stuck while processing", k)
	}

	// 5. Release, then replay, as one act: all three guards pass, one flow.
	item := c.replay(t, stale.ID, map[string]any{
		"reason":       "the consumer was killed, nothing was done",
		"release_keys": []map[string]string{{"key": k.Key, "seen": k.Seen}},
	})
	if *item.Outcome != "processed" {
		t.Fatalf("outcome of P-STALE: %s by %s, want processed", *item.Outcome, *item.OutcomeSource)
	}
	if got, n := w.status(t, "P-STALE"), w.charges(t, "P-STALE"); got != "PAID" || n != 1 {
		t.Fatalf("P-STALE is %s with %d charges, want PAID with 1", got, n)
	}
	if k := c.key(t, keyOf("P-STALE")); k.State != "succeeded" {
		t.Fatalf("key of P-STALE is %s after it was paid, want succeeded", k.State)
	}

	// 6. Once more: not without an override, and with one nobody is charged twice.
	c.refuses(t, "/messages/"+stale.ID+"/replay", map[string]any{"reason": "again"}, http.StatusConflict, "bad_state")
	again := c.replay(t, stale.ID, map[string]any{"reason": "prove it", "override": []string{"already_effected"}})
	if *again.Outcome != "processed" {
		t.Fatalf("outcome of the second replay: %s, want processed: the effect is there", *again.Outcome)
	}
	if n := w.charges(t, "P-STALE"); n != 1 {
		t.Fatalf("P-STALE was charged %d times", n)
	}

	// 7. A refunded order: guard 2 refuses, it comes back into its own thread.
	w.pay(t, "P-REFUNDED", "-refunded")
	refunded := w.awaitDead(t, c, "P-REFUNDED", isOpen)
	if p := c.preflight(t, refunded.ID); p.Verdict != "refused_by_state" {
		t.Fatalf("preflight of P-REFUNDED: %s, want refused_by_state", p.Verdict)
	}
	returned := c.replay(t, refunded.ID, map[string]any{"reason": "prove it", "override": []string{"refused_by_state"}})
	if *returned.Outcome != "dead_again" && *returned.Outcome != "guard_refused" {
		t.Fatalf("outcome of P-REFUNDED: %s, want dead_again or guard_refused", *returned.Outcome)
	}
	w.awaitDead(t, c, "P-REFUNDED", func(m message) error {
		if m.ID != refunded.ID || m.State != "open" || m.Round != 2 {
			return fmt.Errorf("P-REFUNDED is %s in round %d as %s, want open in round 2 as %s", m.State, m.Round, m.ID, refunded.ID)
		}
		return nil
	})
	if item := c.awaitOutcome(t, replayOf(t, c, refunded.ID)); *item.Outcome != "dead_again" || *item.OutcomeSource != "dead_letter" {
		t.Fatalf("outcome of P-REFUNDED: %s by %s, want dead_again by dead_letter", *item.Outcome, *item.OutcomeSource)
	}

	// 8. Redis is gone: nothing is consumed, nothing replayed, nothing lost.
	w.redis.Kill(t)
	w.pay(t, "P-REDIS")
	later := c.dead(t, "P-LATER")
	if p := c.preflight(t, later.ID); p.Verdict != "unknown" {
		t.Fatalf("preflight without Redis: %s, want unknown", p.Verdict)
	}
	c.refuses(t, "/messages/"+later.ID+"/replay", map[string]any{"reason": "now"}, http.StatusServiceUnavailable, "redis_unavailable")
	if got := w.status(t, "P-REDIS"); got != "INIT" {
		t.Fatalf("P-REDIS is %s although Redis is away and the consumer fails closed", got)
	}
	w.redis.Start(t)
	w.awaitPaid(t, "P-REDIS")
	if item := c.replay(t, later.ID, map[string]any{"reason": "redis is back"}); *item.Outcome != "processed" {
		t.Fatalf("outcome of P-LATER: %s, want processed", *item.Outcome)
	}

	// 10. The audit says who did what, why and with which result.
	checkAudit(t, c, stale.ID)
	w.checkBooks(t, c)
	consumer.stop(t)
	c.stop(t)
}

// awaitEmpty waits until the work queue has nothing ready.
func (w *world) awaitEmpty(t *testing.T) {
	t.Helper()
	poll.True(t, soon, "the work queue is empty", func() bool { return w.broker.Depth(t, workQueue) == 0 })
}

func checkBankDeath(t *testing.T, m message) {
	t.Helper()
	if m.RetryCount == nil || *m.RetryCount != 5 || *m.RetryCountSource != "framework" {
		t.Errorf("retry count of P-BANK: %v, want 5 by the framework's own header", m.RetryCount)
	}
	if m.Failure.Type == nil || *m.Failure.Type != "BANK_TIMEOUT" {
		t.Errorf("failure of P-BANK: %+v, want BANK_TIMEOUT", m.Failure)
	}
	if m.Original.Queue == nil || *m.Original.Queue != workQueue {
		t.Errorf("original queue of P-BANK: %v, want %s", m.Original.Queue, workQueue)
	}
}

// refusesWhileYoung proves that neither replay nor release touches a key that
// may still be a running consumer's.
func refusesWhileYoung(t *testing.T, c *console, id string) {
	t.Helper()
	if p := c.preflight(t, id); p.Verdict != "in_progress" {
		t.Fatalf("preflight of P-STALE while its key is young: %s, want in_progress", p.Verdict)
	}
	c.refuses(t, "/messages/"+id+"/replay", map[string]any{"reason": "at once"}, http.StatusConflict, "not_sent")
	k := c.key(t, keyOf("P-STALE"))
	var answer struct {
		Result string `json:"result"`
	}
	c.post(t, "/keys/release", map[string]string{"key": k.Key, "seen": k.Seen, "reason": "at once"}, http.StatusConflict, &answer)
	if after := c.key(t, k.Key); after.State != "processing" || after.Seen != k.Seen {
		t.Fatalf("the key was touched: %+v, was %+v", after, k)
	}
}

func awaitVerdict(t *testing.T, c *console, id, want string) {
	t.Helper()
	poll.Until(t, soon, func() error {
		if p := c.preflight(t, id); p.Verdict != want {
			return fmt.Errorf("verdict %s, want %s", p.Verdict, want)
		}
		return nil
	})
}

// replayOf returns the id of the newest replay of a message.
func replayOf(t *testing.T, c *console, id string) string {
	t.Helper()
	var list struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	c.get(t, "/replays?limit=500", &list)
	for _, r := range list.Items {
		var items struct {
			Items []replayItem `json:"items"`
		}
		c.get(t, "/replays/"+r.ID+"/items", &items)
		if len(items.Items) == 1 && items.Items[0].MessageID == id {
			return r.ID
		}
	}
	t.Fatalf("message %s has no replay", id)
	return ""
}

// checkAudit proves that the release and both replays of P-STALE stand in the
// audit, first as an intent, then with their result, with name and reason.
func checkAudit(t *testing.T, c *console, id string) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range append(c.auditOf(t, id), c.auditOf(t, keyOf("P-STALE"))...) {
		if e.Actor != "anonymous" || e.Reason == "" {
			t.Errorf("audit entry without a name or a reason: %+v", e)
		}
		seen[e.Act+" "+e.Result] = true
	}
	for _, want := range []string{"replay intended", "release intended", "release released", "release too_young"} {
		if !seen[want] {
			t.Errorf("the audit has no %q among %v", want, seen)
		}
	}
}

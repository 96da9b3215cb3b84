package e2e

import (
	"testing"
)

// TestFlagLosesThePaymentSilently shows what the articles' flag key does when
// its consumer is killed: the redelivery is taken for a duplicate and acked.
// Nothing dies, so no console can show it; only the key is left, and says no
// more than that it is there.
func TestFlagLosesThePaymentSilently(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.console(t, "flag")
	consumer := w.consume(t, "-style", "flag")
	w.pay(t, "P-LOST", "-fault", "crash_after_key")
	consumer.wait(t)
	consumer = w.consume(t, "-style", "flag")

	// What comes after it in the queue shows that the consumer is past it.
	w.pay(t, "P-NEXT")
	w.awaitPaid(t, "P-NEXT")
	w.awaitEmpty(t)
	consumer.stop(t)

	if got, n := w.status(t, "P-LOST"), w.charges(t, "P-LOST"); got != "INIT" || n != 0 {
		t.Errorf("P-LOST is %s with %d charges; the test expects that it is lost", got, n)
	}
	if m := c.dead(t, "P-LOST"); m != nil {
		t.Errorf("P-LOST has a dead letter: %+v", m)
	}
	if n := w.broker.Depth(t, terminalQueue); n != 0 {
		t.Errorf("%d messages lie in the terminal queue", n)
	}
	if k := c.key(t, keyOf("P-LOST")); k.State != "held" {
		t.Errorf("the key of P-LOST is %s, want held: a flag says no more", k.State)
	}
}

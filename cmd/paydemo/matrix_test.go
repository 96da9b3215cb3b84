package main

import (
	"strings"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/guard"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
)

// combinations of the three guards, and how often an order is charged in each
// of the three ways in which a message comes again.
var matrix = []struct {
	guards                               string
	redelivery, crashAfterCommit, lateIn int64
}{
	{"none", 2, 2, 2},  // the incident
	{"redis", 1, 1, 2}, // the failed late step frees the key: Redis alone does not help
	{"state", 1, 1, 1},
	{"index", 1, 1, 1},
	{"redis,state", 1, 1, 1},
	{"redis,index", 1, 1, 1},
	{"state,index", 1, 1, 1},
	{"redis,state,index", 1, 1, 1},
}

func guardsOf(t *testing.T, s string) []string {
	t.Helper()
	guards, err := parseGuards(s)
	if err != nil {
		t.Fatal(err)
	}
	return guards
}

// settled stops the consumer and checks the charges, that the books add up, and
// that no message is left in any queue but the terminal one.
func (w *town) settled(t *testing.T, stop func(), want int64) {
	t.Helper()
	stop()
	b := w.book(t)
	if got := b.Orders[0].Charges; got != want || b.Twice != want-1 {
		t.Errorf("%d charges (%d too many), want %d", got, b.Twice, want)
	}
	if b.Unbalanced != 0 || b.Orders[0].Status != "PAID" {
		t.Errorf("%d accounts do not add up; the order is %s", b.Unbalanced, b.Orders[0].Status)
	}
	for _, q := range []string{queuePay, "q.pay.dlx.wait.30s", "q.pay.dlx.wait.1m", "q.pay.dlx.wait.5m"} {
		if n := w.v.Depth(t, q); n != 0 {
			t.Errorf("%s holds %d messages", q, n)
		}
	}
	var calls, bankCharges int64
	if err := w.pool.QueryRow(t.Context(), `SELECT count(*), sum(calls) FROM t_bank_charge`).Scan(&bankCharges, &calls); err != nil {
		t.Fatal(err)
	}
	if bankCharges != 1 || calls != want {
		t.Errorf("the bank moved money %d times in %d calls, want once in %d", bankCharges, calls, want)
	}
}

func TestMatrixPlainRedelivery(t *testing.T) {
	t.Parallel()
	for _, tt := range matrix {
		t.Run(tt.guards, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			orderNo := w.pay(t, produceOptions{})
			log, stop := w.consume(t, newConsumeOptions(guardsOf(t, tt.guards)...))
			w.waitCharges(t, 1)
			if err := w.producer.again(t.Context(), orderNo); err != nil {
				t.Fatal(err)
			}
			if tt.redelivery == 1 {
				poll.True(t, soon, "the second delivery skipped", func() bool { return log.count(guard.EventSkipped) == 1 })
			}
			w.waitCharges(t, tt.redelivery)
			w.settled(t, stop, tt.redelivery)
		})
	}
}

func TestMatrixCrashAfterCommit(t *testing.T) {
	t.Parallel()
	for _, tt := range matrix {
		t.Run(tt.guards, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			orderNo := w.pay(t, produceOptions{fault: faultCrashAfterCommit})
			w.consumeAndDie(t, tt.guards)
			w.waitCharges(t, 1)
			log, stop := w.consume(t, newConsumeOptions(guardsOf(t, tt.guards)...))
			switch {
			case strings.Contains(tt.guards, "redis"): // the key is held by the run that was killed
				d := w.dead(t)
				if got := d.Headers[guard.HeaderExceptionType]; got != guard.TypeKeyHeld {
					t.Errorf("it died of %v", got)
				}
				if key := w.redis.Get(t.Context(), "mq:consumed:pay_success:"+orderNo).Val(); !strings.HasPrefix(key, "PROCESSING:") {
					t.Errorf("the key says %q", key)
				}
			case tt.crashAfterCommit == 1:
				poll.True(t, soon, "the redelivery skipped", func() bool { return log.count(guard.EventSkipped) == 1 })
			}
			w.waitCharges(t, tt.crashAfterCommit)
			w.settled(t, stop, tt.crashAfterCommit)
		})
	}
}

func TestMatrixLateStepInsideTheRunFails(t *testing.T) {
	t.Parallel()
	for _, tt := range matrix {
		t.Run(tt.guards, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			w.pay(t, produceOptions{fault: faultNotice})
			o := newConsumeOptions(guardsOf(t, tt.guards)...)
			o.lateInside = true
			log, stop := w.consume(t, o)
			if tt.lateIn == 1 {
				poll.True(t, soon, "the second run skipped", func() bool { return log.count(guard.EventSkipped) == 1 })
			}
			w.waitCharges(t, tt.lateIn)
			w.settled(t, stop, tt.lateIn)
			if n := log.count(guard.EventRunFailed); n != 1 {
				t.Errorf("%d failed runs, want that of the notice", n)
			}
		})
	}
}

// The cure of the incident's cause: behind the ack a notice can fail without
// any guard having to hold.
func TestMatrixLateStepAfterTheAckFails(t *testing.T) {
	t.Parallel()
	for _, tt := range matrix {
		t.Run(tt.guards, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			w.pay(t, produceOptions{fault: faultNotice})
			log, stop := w.consume(t, newConsumeOptions(guardsOf(t, tt.guards)...))
			poll.True(t, soon, "the notice tried", func() bool { return w.order(t).Fault == "" })
			w.settled(t, stop, 1)
			if n := log.count(guard.EventRunFailed); n != 0 {
				t.Errorf("%d failed runs", n)
			}
		})
	}
}

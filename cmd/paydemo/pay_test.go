package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/guard"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
)

var everything = []string{"redis", "state", "index"}

func (w *town) payer() *payer {
	return &payer{
		pool: w.pool, controls: w.controls, bank: bank{w.pool, w.controls, 0},
		stateGuard: true, indexGuard: true, crash: func() { panic("crash") },
	}
}

// delivery makes an order without sending it.
func (w *town) delivery(t *testing.T, o produceOptions, now paySuccess) amqp.Delivery {
	t.Helper()
	if err := createOrder(t.Context(), w.pool, now, o.fault); err != nil {
		t.Fatal(err)
	}
	p, err := now.publishing()
	if err != nil {
		t.Fatal(err)
	}
	return amqp.Delivery{Body: p.Body}
}

func TestOneOfManyRunsPaysTheOrder(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	p := w.payer()
	d := w.delivery(t, produceOptions{}, paySuccess{OrderNo: "P20260928001", UserID: 10086, Amount: 19900})
	results := make(chan error, 10)
	var all sync.WaitGroup
	for range cap(results) {
		all.Go(func() { results <- p.handle(context.Background(), d, "P20260928001") })
	}
	all.Wait()
	close(results)
	won := 0
	for err := range results {
		switch {
		case err == nil:
			won++
		case err.Error() != guard.Duplicate(guardState).Error():
			t.Errorf("a run ended in %v", err)
		}
	}
	b := w.book(t)
	if won != 1 || b.Orders[0].Charges != 1 || b.Unbalanced != 0 {
		t.Errorf("%d runs won, %d charges, %d accounts do not add up", won, b.Orders[0].Charges, b.Unbalanced)
	}
}

func TestALateCallbackAfterARefundIsTerminalAtOnce(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.pay(t, produceOptions{refund: true})
	_, stop := w.consume(t, newConsumeOptions(everything...))
	d := w.dead(t)
	stop()
	if d.Headers[guard.HeaderExceptionType] != "ILLEGAL_ORDER_STATUS" || d.Headers[guard.HeaderRetryCount] != int64(1) {
		t.Errorf("headers %v", d.Headers)
	}
	if o := w.order(t); o.Status != "REFUNDED" || o.Charges != 0 {
		t.Errorf("order %+v", o)
	}
}

func TestABalanceThatIsNotEnoughLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	orderNo := w.pay(t, produceOptions{user: 20001, amount: "5.01"})
	_, stop := w.consume(t, newConsumeOptions(everything...))
	d := w.dead(t)
	stop()
	if d.Headers[guard.HeaderExceptionType] != "BALANCE_NOT_ENOUGH" || d.Headers[guard.HeaderRetryCount] != int64(5) {
		t.Errorf("headers %v", d.Headers)
	}
	if o := w.order(t); o.Status != "INIT" || o.Charges != 0 {
		t.Errorf("order %+v", o)
	}
	var calls int
	if err := w.pool.QueryRow(t.Context(), `SELECT count(*) FROM t_bank_charge`).Scan(&calls); err != nil || calls != 0 {
		t.Errorf("the bank was asked %d times, %v", calls, err)
	}

	// With a cent more it goes through: the data is fixed, the message sent again.
	if err := topUp(t.Context(), w.pool, 20001, 1); err != nil {
		t.Fatal(err)
	}
	if err := w.producer.again(t.Context(), orderNo); err != nil {
		t.Fatal(err)
	}
	_, stop = w.consume(t, newConsumeOptions(everything...))
	w.waitCharges(t, 1)
	w.settled(t, stop, 1)
}

func TestABankThatIsDownFailsTheRunAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{"for one order": faultBankTimeout, "for all": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			if fault == "" {
				if err := w.controls.set(t.Context(), controlBank, bankDown); err != nil {
					t.Fatal(err)
				}
			}
			orderNo := w.pay(t, produceOptions{fault: fault})
			_, stop := w.consume(t, newConsumeOptions(everything...))
			d := w.dead(t)
			if d.Headers[guard.HeaderExceptionType] != "BANK_TIMEOUT" {
				t.Errorf("headers %v", d.Headers)
			}
			if o := w.order(t); o.Status != "INIT" || o.Charges != 0 {
				t.Errorf("order %+v", o)
			}
			if err := w.controls.apply(t.Context(), controlBank, bankUp); err != nil {
				t.Fatal(err)
			}
			if err := w.producer.again(t.Context(), orderNo); err != nil {
				t.Fatal(err)
			}
			w.waitCharges(t, 1)
			w.settled(t, stop, 1)
		})
	}
}

// The stale key of the story: killed with the key taken and nothing done, the
// message dies of a key that nobody holds any more.
func TestACrashAfterTheKeyLeavesAStaleKey(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	orderNo := w.pay(t, produceOptions{fault: faultCrashAfterKey})
	w.consumeAndDie(t, "redis,state,index")
	_, stop := w.consume(t, newConsumeOptions(everything...))
	d := w.dead(t)
	stop()
	if d.Headers[guard.HeaderExceptionType] != guard.TypeKeyHeld {
		t.Errorf("headers %v", d.Headers)
	}
	if key := w.redis.Get(t.Context(), "mq:consumed:pay_success:"+orderNo).Val(); !strings.HasPrefix(key, "PROCESSING:") {
		t.Errorf("the key says %q", key)
	}
	if o := w.order(t); o.Status != "INIT" || o.Charges != 0 {
		t.Errorf("order %+v", o)
	}
}

// H7, seen from the books: with a flag the redelivery is acked, and the
// payment is gone without a trace.
func TestACrashAfterABareFlagLosesThePayment(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	orderNo := w.pay(t, produceOptions{})
	if err := w.redis.Set(t.Context(), "mq:consumed:pay_success:"+orderNo, "1", 0).Err(); err != nil {
		t.Fatal(err) // what a killed consumer of the articles left
	}
	o := newConsumeOptions(everything...)
	o.style, o.bareFlag = guard.Flag, true
	log, stop := w.consume(t, o)
	poll.True(t, soon, "the delivery skipped", func() bool { return log.count(guard.EventSkipped) == 1 })
	stop()
	if o := w.order(t); o.Status != "INIT" || o.Charges != 0 || w.v.Depth(t, queueTerminal) != 0 || w.v.Depth(t, queuePay) != 0 {
		t.Errorf("order %+v", o)
	}
}

func TestABodyThatIsNoMessageIsTerminal(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.v.Publish(t, exchangePay, keyPay, amqp.Publishing{Body: []byte(`{"orderNo":"P1","amount":"much"}`)})
	_, stop := w.consume(t, newConsumeOptions(everything...))
	d := w.dead(t)
	stop()
	if d.Headers[guard.HeaderExceptionType] != "BAD_MESSAGE" {
		t.Errorf("headers %v", d.Headers)
	}
}

// D1: the last guard holds whatever the program does.
func TestTheIndexRefusesASecondCharge(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	const charge = `INSERT INTO t_account_flow (user_id, amount, biz_no, type) VALUES (10086, -199.00, 'P20260928001', 'PAY_DEDUCT')`
	if _, err := w.pool.Exec(t.Context(), charge); err != nil {
		t.Fatal(err)
	}
	_, err := w.pool.Exec(t.Context(), charge)
	var violation *pgconn.PgError
	if !errors.As(err, &violation) || violation.ConstraintName != "uk_biz_no_type" {
		t.Errorf("the second charge: %v", err)
	}

	// H15: without the index it goes in, and then the index cannot come back.
	if err := setIndexGuard(t.Context(), w.pool, false); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pool.Exec(t.Context(), charge); err != nil {
		t.Fatal(err)
	}
	if err := applySchema(t.Context(), w.pool); err != nil {
		t.Errorf("the schema cannot be applied again: %v", err)
	}
	if err := setIndexGuard(t.Context(), w.pool, true); err == nil {
		t.Error("the index came back over duplicates")
	}
}

func TestARefundIsAFlowOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.pay(t, produceOptions{user: 10086, amount: "199.00"})
	_, stop := w.consume(t, newConsumeOptions(everything...))
	w.waitCharges(t, 1)
	stop()
	if err := refundOrder(t.Context(), w.pool, w.order(t).OrderNo); err != nil {
		t.Fatal(err)
	}
	if err := refundOrder(t.Context(), w.pool, w.order(t).OrderNo); !errors.Is(err, errNotPossible) {
		t.Errorf("a second refund: %v", err)
	}
	b := w.book(t)
	if b.Orders[0].Status != "REFUNDED" || b.Orders[0].Charges != 1 || b.Unbalanced != 0 {
		t.Errorf("order %+v, %d accounts do not add up", b.Orders[0], b.Unbalanced)
	}
	for _, a := range b.Accounts {
		if a.UserID == 10086 && a.Balance != richOpening.String() {
			t.Errorf("the balance is %s", a.Balance)
		}
	}
}

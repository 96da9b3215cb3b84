package sample

import (
	"context"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// Bodies of frameworks that keep there why a message failed.
const (
	easyNetQBody = `{"RoutingKey":"","Exchange":"Shop.PayOrder, Shop","Queue":"Shop.PayOrder, Shop_sales","Exception":"System.TimeoutException: Harbour Bank gave no answer in 10 s\r\n   at Shop.Bank.Pay()",` +
		`"Message":"{\"orderNo\":\"P20260928411\",\"amount\":1280.00}","DateTime":"2026-09-27T19:05:07Z",` +
		`"BasicProperties":{"ContentType":"application/json","Headers":{"tenant":"YWNtZQ=="},"DeliveryMode":2,"MessageId":"m-411","Type":"Shop.PayOrder, Shop"}}`
	dramatiqBody = `{"queue_name":"pay","actor_name":"settle_order","args":["P20260928412",1280.00],"kwargs":{},"options":{"retries":20,"max_retries":20,` +
		`"traceback":"Traceback (most recent call last):\n  File \"pay.py\", line 74, in settle\n    raise BankTimeout(order)\nshop.BankTimeout: Harbour Bank gave no answer in 10 s"},` +
		`"message_id":"6f1c2a","message_timestamp":1790534357000}`
)

// AddFrameworks adds the messages of two frameworks that write into the body.
func (s *Store) AddFrameworks() {
	defer s.lock()()
	for id, body := range map[string]string{EnvelopeID: easyNetQBody, EditedID: dramatiqBody} {
		s.looks[id] = situation{
			business: "P2026092841" + id[len(id)-1:], state: dlq.Open, died: 26 * time.Minute,
			verdict: replay.WillRun, why: replay.WhyAbsent, key: keys.Absent, order: "INIT", body: body,
		}
	}
}

// extracted is what those bodies tell.
func (x situation) extracted(f dlq.Facts) dlq.Facts {
	if x.body != easyNetQBody && x.body != dramatiqBody {
		return f
	}
	told := dlq.Extract(rabbit.Delivery{Body: []byte(x.body)}, dlq.Source{}, Now)
	f.Failure, f.Original, f.RetryCount, f.RetryCountSource = told.Failure, told.Original, told.RetryCount, told.RetryCountSource
	return f
}

// Unit is what a replay of a sample message would send.
func (r *Replays) Unit(ctx context.Context, id string, round int) (dlq.Unit, error) {
	life, err := r.Store.Life(ctx, id, round)
	if err != nil {
		return dlq.Unit{}, err
	}
	x, _ := r.situation(id)
	return dlq.UnitOf(life, []byte(x.text()), Now), nil
}

// SetOriginal keeps an operator's word.
func (s *Store) SetOriginal(_ context.Context, id string, o dlq.Origin, a dlq.Act) error {
	defer s.lock()()
	x, ok := s.looks[id]
	switch {
	case !ok:
		return dlq.ErrNotFound
	case x.state == dlq.Replaying:
		return dlq.ErrBadState
	}
	o.Evidence = dlq.OriginOperator
	x.origin = &o
	s.looks[id] = x
	s.Acts = append(s.Acts, a)
	return nil
}

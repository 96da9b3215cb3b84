package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

func topologyCommand(_ context.Context, args []string) error {
	var s services
	tiers := articleTiers()
	flags := flag.NewFlagSet("paydemo topology", flag.ContinueOnError)
	s.flagsFor(flags)
	flags.Func("tiers", "times of the wait queues (default 30s,1m,5m)", func(v string) (err error) {
		tiers, err = parseTiers(v)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return usage(err)
	}
	return declareTopology(s.amqp, tiers)
}

// produceOptions say what is sent.
type produceOptions struct {
	rate   float64 // orders a second
	count  int     // 0: until stopped
	twice  float64 // share that is sent again with another message id
	order  string  // "": a new number each time
	user   int64   // 0: any of the rich
	amount string  // "": any
	fault  string
	refund bool // before it is sent: the late callback
	resend bool // the order is there already
}

func produceCommand(ctx context.Context, args []string) error {
	var s services
	var o produceOptions
	flags := flag.NewFlagSet("paydemo produce", flag.ContinueOnError)
	s.flagsFor(flags)
	flags.Float64Var(&o.rate, "rate", 1, "orders a second")
	flags.IntVar(&o.count, "count", 0, "how many orders; 0: until stopped")
	flags.Float64Var(&o.twice, "twice", 0, "share of orders sent twice, with another message id")
	flags.StringVar(&o.order, "order", "", "order number (with -count 1)")
	flags.Int64Var(&o.user, "user", 0, "user who pays; 0: any")
	flags.StringVar(&o.amount, "amount", "", "amount, as in 199.00; empty: any")
	flags.StringVar(&o.fault, "fault", "", "fault that the orders meet: "+strings.Join(faults, ", "))
	flags.BoolVar(&o.refund, "refunded", false, "refund the orders before their message is sent")
	flags.BoolVar(&o.resend, "again", false, "send the message of an order that is there already (with -order)")
	if err := flags.Parse(args); err != nil {
		return usage(err)
	}
	if err := o.check(); err != nil {
		return usage(err)
	}
	pool, err := openDatabase(ctx, s.postgres, 0)
	if err != nil {
		return err
	}
	defer pool.Close()
	p := &producer{pool: pool, sender: &sender{url: s.amqp}, log: newLog()}
	defer p.sender.close()
	return p.produce(ctx, o)
}

func (o produceOptions) check() error {
	switch {
	case o.rate <= 0 || o.rate > 10_000:
		return errors.New("-rate must be more than 0 and at most 10000")
	case o.twice < 0 || o.twice > 1:
		return errors.New("-twice is a share from 0 to 1")
	case o.order != "" && o.count != 1:
		return errors.New("-order needs -count 1")
	case o.resend && o.order == "":
		return errors.New("-again needs -order")
	case o.fault != "" && !slices.Contains(faults, o.fault):
		return fmt.Errorf("-fault is one of %s", strings.Join(faults, ", "))
	}
	return nil
}

// producer is the payment gateway: it makes orders and says that they are paid.
type producer struct {
	pool   *pgxpool.Pool
	sender *sender
	log    *slog.Logger
}

// produce sends orders at their rate and prints each number.
func (p *producer) produce(ctx context.Context, o produceOptions) error {
	ticker := time.NewTicker(time.Duration(float64(time.Second) / o.rate))
	defer ticker.Stop()
	for n := 0; o.count == 0 || n < o.count; n++ {
		if n > 0 {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return nil
			}
		}
		orderNo, err := p.one(ctx, o)
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("paydemo: produce: %w", err)
		}
		fmt.Println(orderNo)
	}
	return nil
}

// one makes an order as o says, and sends its message.
func (p *producer) one(ctx context.Context, o produceOptions) (string, error) {
	if o.resend {
		return o.order, p.again(ctx, o.order)
	}
	m, err := newPayment(o, time.Now())
	if err != nil {
		return "", err
	}
	if err := createOrder(ctx, p.pool, m, o.fault); err != nil {
		return "", err
	}
	if o.refund {
		if err := refundOrder(ctx, p.pool, m.OrderNo); err != nil {
			return "", err
		}
	}
	if err := p.sender.send(ctx, m); err != nil {
		return "", err
	}
	if rand.Float64() < o.twice {
		return m.OrderNo, p.sender.send(ctx, m)
	}
	return m.OrderNo, nil
}

// again sends the message of an order once more, under another id.
func (p *producer) again(ctx context.Context, orderNo string) error {
	m, err := findOrder(ctx, p.pool, orderNo)
	if err != nil {
		return err
	}
	return p.sender.send(ctx, m)
}

func newPayment(o produceOptions, now time.Time) (paySuccess, error) {
	m := paySuccess{
		OrderNo: o.order, UserID: o.user,
		Amount: Cents(1000 + rand.Int64N(49_000)), PaidAt: now.UTC().Truncate(time.Second),
	}
	if m.OrderNo == "" {
		m.OrderNo = newOrderNo(now)
	}
	if m.UserID == 0 {
		m.UserID = richUsers[rand.IntN(len(richUsers))]
	}
	if o.amount == "" {
		return m, nil
	}
	var err error
	m.Amount, err = parseCents(o.amount)
	return m, err
}

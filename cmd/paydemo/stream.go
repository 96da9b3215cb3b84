package main

import (
	"context"
	"time"
)

// The stream is dense in faults at first, so that there is something to see
// within a minute, and then thins out.
const (
	densePeriod = 20
	sparsePart  = 5 // from sparseFrom on, one of so many faults
	sparseFrom  = 200
)

// scenario is what the n-th order of the stream is like.
func scenario(n int) produceOptions {
	o := produceOptions{rate: 1, count: 1}
	switch { // consumers that die, leaving keys behind
	case n == 10 || n == 45 || n%300 == 150:
		o.fault = faultCrashAfterKey
		return o
	case n == 70 || n%500 == 250:
		o.fault = faultCrashAfterCommit
		return o
	}
	if n >= sparseFrom && n/densePeriod%sparsePart != 0 {
		return o
	}
	switch n % densePeriod {
	case 3, 14:
		o.fault = faultBankTimeout
	case 7:
		o.user = poorUsers[n/densePeriod%len(poorUsers)]
	case 12:
		o.refund = true
	case 16:
		o.twice = 1
	case 18:
		o.fault = faultNotice
	}
	return o
}

// stream sends orders until ctx is cancelled. What goes wrong is logged, and
// the next order is tried: services may be restarted under the demo.
func (d *demo) stream(ctx context.Context) error {
	p := &producer{pool: d.pool, sender: &sender{url: d.place.services.amqp}, log: d.log}
	defer p.sender.close()
	c := controls{d.pool}
	ticker := time.NewTicker(time.Duration(float64(time.Second) / d.o.rate))
	defer ticker.Stop()
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		sent, err := p.next(ctx, c, n)
		if err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "order not sent", "err", err)
		}
		if sent {
			n++
		}
	}
}

// next sends the n-th order, unless the stream is halted.
func (p *producer) next(ctx context.Context, c controls, n int) (sent bool, err error) {
	stream, err := c.value(ctx, controlStream)
	if err != nil || stream == off {
		return false, err
	}
	withFaults, err := c.value(ctx, controlFaults)
	if err != nil {
		return false, err
	}
	o := scenario(n)
	if withFaults == off {
		o = produceOptions{rate: 1, count: 1}
	}
	_, err = p.one(ctx, o)
	return true, err
}

package main

import (
	"context"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/errgroup"
)

// plain is a consumer that takes and acks, and does nothing else.
type plain struct {
	consumers, prefetch int
}

// plains are the settings among which the fastest is looked for.
var plains = []plain{{1, 500}, {1, 2000}, {1, 10_000}, {2, 2000}}

func (p plain) String() string {
	return fmt.Sprintf("%d consumer(s), prefetch %d, an ack for each %d", p.consumers, p.prefetch, p.every())
}

// every is for how many messages there is one ack: few, and early enough that
// the broker never runs out of prefetch.
func (p plain) every() int { return max(1, p.prefetch/4) }

// take empties the queue of n messages and returns how long that took, from the
// first consume to the broker's answer to a question behind the last ack.
func (p plain) take(ctx context.Context, b *broker, n int) (time.Duration, error) {
	channels := make([]*amqp.Channel, p.consumers)
	for i := range channels {
		conn, err := amqp.Dial(b.url)
		if err != nil {
			return 0, err
		}
		defer conn.Close()
		if channels[i], err = conn.Channel(); err != nil {
			return 0, err
		}
		if err := channels[i].Qos(p.prefetch, 0, false); err != nil {
			return 0, err
		}
	}
	var left budget
	left.n.Store(int64(n))
	left.none = make(chan struct{})
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for _, ch := range channels {
		group.Go(func() error { return p.consume(ctx, ch, &left) })
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// consume takes its share until all messages are taken.
func (p plain) consume(ctx context.Context, ch *amqp.Channel, left *budget) error {
	deliveries, err := ch.ConsumeWithContext(ctx, queue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	var last uint64
	unacked, every := 0, p.every()
	for open := true; open; {
		select {
		case d, ok := <-deliveries:
			if !ok {
				return fmt.Errorf("the broker ended the consumer")
			}
			last = d.DeliveryTag
			if unacked++; unacked == every {
				unacked = 0
				if err := ch.Ack(last, true); err != nil {
					return err
				}
			}
			left.take()
		case <-left.none:
			open = false
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if unacked > 0 {
		if err := ch.Ack(last, true); err != nil {
			return err
		}
	}
	_, err = ch.QueueDeclarePassive(queue, true, false, false, false, nil)
	return err
}

// fastest tries every setting on n messages and returns the fastest.
func fastest(ctx context.Context, b *broker, n, size int) (plain, error) {
	var best plain
	var least time.Duration
	for _, p := range plains {
		if err := b.fill(ctx, n, size); err != nil {
			return best, err
		}
		took, err := p.take(ctx, b, n)
		if err != nil {
			return best, err
		}
		progress("broker's limit, %d bytes, %s: %.0f/s", size, p, rate(n, took))
		if least == 0 || took < least {
			best, least = p, took
		}
	}
	return best, nil
}

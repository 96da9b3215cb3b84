package main

import (
	"context"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/bench/own"
)

// copies are how often a message was published.
type copies struct {
	confirmed int
	uncertain int // sent while the broker died, and not confirmed: there or not
}

// publisher publishes with confirms, straight to the broker, and keeps the
// books of it.
type publisher struct {
	seed   uint64
	broker *broker
	queues []queue
	one    sync.Mutex // one burst after the other
	conn   *amqp.Connection
	ch     *amqp.Channel

	mu    sync.Mutex
	books map[int]copies
	total copies
}

// burst publishes messages in pieces, with short breaks, and returns when the
// broker has confirmed each or lost the connection.
func (p *publisher) burst(ctx context.Context, numbers []int) error {
	p.one.Lock()
	defer p.one.Unlock()
	for len(numbers) > 0 {
		piece := numbers[:min(40, len(numbers))]
		numbers = numbers[len(piece):]
		if err := p.connect(ctx); err != nil {
			return err
		}
		p.send(ctx, piece)
		if err := own.Rest(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// connect returns when there is a channel.
func (p *publisher) connect(ctx context.Context) error {
	if p.ch != nil && !p.ch.IsClosed() {
		return nil
	}
	return until(ctx, startWithin, func(context.Context) (err error) {
		p.close()
		if p.conn, err = amqp.Dial(p.broker.url(p.broker.addr())); err != nil {
			return err
		}
		if p.ch, err = p.conn.Channel(); err != nil {
			return err
		}
		return p.ch.Confirm(false)
	})
}

func (p *publisher) send(ctx context.Context, numbers []int) {
	confirms := make([]*amqp.DeferredConfirmation, len(numbers))
	for i, number := range numbers {
		key := p.queues[queueOf(number)].name
		// An error leaves no confirm, and so the message uncertain.
		confirms[i], _ = p.ch.PublishWithDeferredConfirmWithContext(ctx, "", key, true, false, compose(p.seed, number).publishing())
	}
	for i, c := range confirms {
		ok := false
		if c != nil {
			ok, _ = c.WaitContext(ctx)
		}
		p.enter(numbers[i], ok)
	}
}

func (p *publisher) enter(number int, confirmed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.books[number]
	if confirmed {
		c.confirmed++
		p.total.confirmed++
	} else {
		c.uncertain++
		p.total.uncertain++
	}
	p.books[number] = c
}

func (p *publisher) totals() copies {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

func (p *publisher) close() {
	if p.conn != nil {
		_ = p.conn.Close() // it may be lost already
	}
	p.conn, p.ch = nil, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/bench/own"
)

const (
	// drainWithin bounds one drain, and searchWithin the search text after it.
	drainWithin  = 15 * time.Minute
	searchWithin = time.Minute
	// visibleWithin bounds the wait for one message.
	visibleWithin = 30 * time.Second
	// listed is how many messages it is measured for.
	listed = 20
)

// errLate: search text was not made in time.
var errLate = errors.New("search text is late")

// drain fills the queue while the source is paused, resumes it, and returns
// when that was and how long it took until the last message was committed and
// the queue had no more to give. That the last ack followed is looked at after
// the clock has stopped.
func (b *bench) drain(ctx context.Context, c *console, n, size int) (began time.Time, took time.Duration, cost spent, err error) {
	if err = errors.Join(b.store.empty(ctx), b.broker.fill(ctx, n, size), c.forgetPeak(), b.countStatements(ctx)); err != nil {
		return
	}
	limited, cancel := context.WithTimeoutCause(ctx, drainWithin, fmt.Errorf("%d messages were not drained within %v", n, drainWithin))
	defer cancel()
	before := b.spent(c.cmd.Process.Pid)
	began = time.Now()
	if err = c.turn(limited, "resume"); err != nil {
		return
	}
	if err = b.awaitStored(limited, n); err != nil {
		return
	}
	took = time.Since(began)
	cost = b.spent(c.cmd.Process.Pid).since(before, n)
	if err = b.statements(ctx); err != nil {
		return
	}
	return began, took, cost, b.allThere(ctx, n)
}

// allThere fails unless the queue is empty, with nothing left unacked, and the
// store holds as many messages as were published.
func (b *bench) allThere(ctx context.Context, n int) error {
	if err := b.broker.awaitEmpty(ctx); err != nil {
		return err
	}
	stored, err := b.store.count(ctx)
	if err == nil && stored != n {
		err = fmt.Errorf("the store holds %d messages, and %d were published", stored, n)
	}
	return err
}

// awaitStored asks the broker until its queue has no more to give, which costs
// the drain nothing, and only then the store.
func (b *bench) awaitStored(ctx context.Context, n int) error {
	err := until(ctx, 50*time.Millisecond, func() (bool, error) {
		ready, err := b.broker.ready()
		return ready == 0, err
	})
	if err != nil {
		return err
	}
	return until(ctx, 10*time.Millisecond, func() (bool, error) {
		stored, err := b.store.count(ctx)
		return stored >= n, err
	})
}

// latency publishes messages one by one to an idle queue, at times that have
// nothing to do with the drain's, and returns how long each took to be in the
// list that the page shows, the shortest first.
func (b *bench) latency(ctx context.Context, c *console, n, size int) ([]time.Duration, error) {
	all := make([]time.Duration, n)
	for i := range all {
		if err := own.Rest(ctx, time.Duration(500+rand.IntN(1000))*time.Millisecond); err != nil { //nolint:gosec // no secret
			return nil, err
		}
		took, err := b.visible(ctx, c, 1_000_000+i, size)
		if err != nil {
			return nil, err
		}
		all[i] = took
	}
	slices.Sort(all)
	return all, nil
}

// visible publishes one message that died just now, and returns how long it
// took to be listed.
func (b *bench) visible(ctx context.Context, c *console, n, size int) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, visibleWithin, fmt.Errorf("a message is not listed after %v", visibleWithin))
	defer cancel()
	m := message(n, size, time.Now().Add(2*time.Hour)) // the newest of all, whatever its own age
	began := time.Now()
	err := b.broker.channel(func(ch *amqp.Channel) error {
		return ch.PublishWithContext(ctx, "", queue, false, false, m)
	})
	if err != nil {
		return 0, err
	}
	err = until(ctx, 5*time.Millisecond, func() (bool, error) {
		var list struct {
			Items []struct {
				Key string `json:"business_key"`
			}
		}
		err := c.call(ctx, http.MethodGet, c.url+"/api/v1/messages?limit=50", nil, &list)
		for _, m := range list.Items {
			if m.Key == orderNo(n, size) {
				return true, err
			}
		}
		return false, err
	})
	return time.Since(began), err
}

package guard

import (
	"context"
	"errors"
	"log/slog"
	"sync"
)

// Consumer consumes one queue as the package doc says.
type Consumer struct {
	o         Options
	metrics   *metrics
	publisher *publisher

	mu   sync.Mutex
	owed []debt
}

// New returns a consumer, or an error that names all that is wrong with o. It
// reaches neither Redis nor the broker.
func New(o Options) (*Consumer, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	m, err := newMetrics(o.Registerer, o.Name, o.Guards)
	if err != nil {
		return nil, err
	}
	p := &publisher{url: o.URL, name: o.Name + " ladder", patience: o.Patience}
	return &Consumer{o: o, metrics: m, publisher: p}, nil
}

// errPaused ends a session because Redis does not serve.
var errPaused = errors.New("guard: Redis does not serve")

// Run consumes until ctx is cancelled; then it finishes what is in hand, gives
// back what was not begun, and returns nil. It outlives restarts of the broker
// and of Redis, closed channels and cancelled consumers, and returns no other
// way. Call it once.
func (c *Consumer) Run(ctx context.Context) error {
	defer c.publisher.close()
	for fails := 0; c.awaitRedis(ctx); fails++ {
		began := c.o.Now()
		err := c.consume(ctx)
		if ctx.Err() != nil {
			break
		}
		if c.o.Now().Sub(began) > c.o.Backoff.Max {
			fails = 0
		}
		wait := c.o.Backoff.after(fails)
		if !errors.Is(err, errPaused) {
			c.o.Log.LogAttrs(ctx, slog.LevelWarn, "not consuming: the broker does not serve",
				c.about(EventDegraded, slog.String("queue", c.o.Queue), slog.Duration("again_in", wait), slog.Any("err", err))...)
		}
		sleep(ctx, wait)
	}
	return nil
}

// awaitRedis waits until Redis serves, where the consumer needs it, and reports
// whether to go on. No delivery is held meanwhile.
func (c *Consumer) awaitRedis(ctx context.Context) bool {
	if c.o.Keys == nil || c.o.Fallback == FailOpen {
		return ctx.Err() == nil
	}
	for n := 0; ctx.Err() == nil; n++ {
		err := c.within(ctx, c.o.Keys.Probe)
		if err == nil {
			if n > 0 {
				c.o.Log.InfoContext(ctx, "consuming again: Redis serves", "consumer", c.o.Name)
			}
			c.settle(ctx)
			return true
		}
		wait := c.o.Backoff.after(n)
		c.o.Log.LogAttrs(ctx, slog.LevelWarn, "consumption is paused: Redis does not serve",
			c.about(EventDegraded, slog.Duration("again_in", wait), slog.Any("err", err))...)
		sleep(ctx, wait)
	}
	return false
}

// within bounds one step by the consumer's patience.
func (c *Consumer) within(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Patience)
	defer cancel()
	return step(ctx)
}

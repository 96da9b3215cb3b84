package guard

import (
	"context"
	"log/slog"
)

// maxOwed bounds what is remembered while Redis is away.
const maxOwed = 10_000

// debt is what a run still owes its key because Redis did not answer. Without
// it the key would say for its whole TTL that a run goes on which has ended.
type debt struct {
	claim Claim
	done  bool  // mark it, else release it
	cause error // of the failed run
}

// owe remembers a debt.
func (c *Consumer) owe(d debt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.owed) < maxOwed {
		c.owed = append(c.owed, d)
	}
}

// oweDoubt remembers a claim whose answer was lost on the way: the key may have
// been taken. A bare flag cannot tell whose it is, so it stays.
func (c *Consumer) oweDoubt(claim Claim) {
	if !c.o.Keys.o.BareFlag {
		c.owe(debt{claim: claim})
	}
}

// settle pays what is owed, and keeps what cannot be paid yet. It is safe
// however late it comes: both steps act only on this run's key.
func (c *Consumer) settle(ctx context.Context) {
	c.mu.Lock()
	owed := c.owed
	c.owed = nil
	c.mu.Unlock()
	for i, d := range owed {
		if err := c.pay(ctx, d); err != nil {
			for _, left := range owed[i:] {
				c.owe(left)
			}
			return
		}
	}
}

// let ends a run's hold on its key: marked when the work is done, released
// when it is not. It reports whether Redis answered; if not, it is owed.
func (c *Consumer) let(ctx context.Context, d debt) bool {
	if c.o.Keys == nil || d.claim.Token == "" {
		return true
	}
	err := c.pay(ctx, d)
	if err == nil {
		return true
	}
	c.owe(d)
	c.o.Log.LogAttrs(ctx, slog.LevelError, "a key could not be cleared; it will be when Redis serves again",
		c.about(EventDegraded, slog.String("key", d.claim.Key), slog.Any("err", err))...)
	return false
}

func (c *Consumer) pay(ctx context.Context, d debt) error {
	var result ClearResult
	err := c.within(ctx, func(ctx context.Context) (err error) {
		if d.done {
			result, err = c.o.Keys.MarkSuccess(ctx, d.claim)
			return err
		}
		result, err = c.o.Keys.Release(ctx, d.claim, d.cause)
		return err
	})
	switch {
	case err != nil:
		return err
	case d.done && result != Marked:
		c.o.Log.LogAttrs(ctx, slog.LevelWarn, "the key was no longer this run's when the work was done",
			c.about(EventDegraded, slog.String("key", d.claim.Key), slog.String("result", string(result)))...)
	case !d.done:
		c.o.Log.LogAttrs(ctx, slog.LevelInfo, "key cleared",
			c.about(EventKeyCleared, slog.String("key", d.claim.Key), slog.String("result", string(result)))...)
	}
	return nil
}

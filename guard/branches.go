package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	amqp "github.com/rabbitmq/amqp091-go"
)

// handle takes one delivery to its end: one of the five branches of the
// package doc. The order of effects in each is the point: the broker is told
// last, when the outcome is certain.
func (c *Consumer) handle(ctx context.Context, s *session, d amqp.Delivery) {
	businessKey, err := c.o.BusinessKey(d)
	if err != nil || businessKey == "" {
		c.fail(ctx, s, d, "", Claim{}, noBusinessKey(err))
		return
	}
	claim, err := c.acquire(ctx, d, businessKey)
	switch {
	case err != nil && c.o.Fallback == FailClosed: // Redis unavailable: pause
		c.oweDoubt(claim)
		s.pause()
		s.giveBack(d)
		return
	case claim.Answer == Done: // duplicate: ack
		c.skip(ctx, d, businessKey, keyGuard)
		return
	case claim.Answer == HeldByOther || claim.Answer == Unreadable: // unfinished run: the ladder
		c.fail(ctx, s, d, businessKey, Claim{}, notOurs(claim))
		return
	}

	err = c.run(ctx, s, d, businessKey)
	duplicate, isDuplicate := duplicateOf(err)
	switch {
	case err == nil: // success: mark, ack
		c.succeed(ctx, s, d, businessKey, claim)
	case isDuplicate: // duplicate, as a guard of the handler says: mark, ack
		c.mark(ctx, s, claim)
		c.metrics.answered(duplicate, checkedDuplicate, isReplay(d))
		c.skip(ctx, d, businessKey, duplicate)
	default: // failure: publish, release, ack
		c.fail(ctx, s, d, businessKey, claim, err)
	}
}

// acquire asks the key, counts its answer and logs it. With an error the
// claim's token is still good for giving back what may have been taken.
func (c *Consumer) acquire(ctx context.Context, d amqp.Delivery, businessKey string) (Claim, error) {
	if c.o.Keys == nil {
		return Claim{Answer: First}, nil
	}
	snapshot := ""
	if c.o.Snapshot != nil {
		snapshot = c.o.Snapshot(d)
	}
	var claim Claim
	err := c.within(ctx, func(ctx context.Context) (err error) {
		claim, err = c.o.Keys.Acquire(ctx, businessKey, snapshot)
		return err
	})
	if err != nil {
		c.metrics.count(keyGuard, checkedUnavailable, isReplay(d))
		c.o.Log.LogAttrs(ctx, slog.LevelError, "the key could not be asked",
			c.about(EventDegraded,
				append(attrsOf(d, businessKey), slog.String("fallback", string(c.o.Fallback)), slog.Any("err", err))...)...)
		return claim, err
	}
	c.settle(ctx)
	c.checked(ctx, d, businessKey, claim)
	return claim, nil
}

var resultsInMetrics = map[Answer]string{
	First: checkedFirst, Done: checkedDuplicate, HeldByOther: checkedHeld, Unreadable: checkedHeld,
}

func (c *Consumer) checked(ctx context.Context, d amqp.Delivery, businessKey string, claim Claim) {
	c.metrics.count(keyGuard, resultsInMetrics[claim.Answer], isReplay(d))
	c.countCheck(ctx, d, claim.Answer)
	attrs := append(attrsOf(d, businessKey), slog.String("key", claim.Key))
	c.o.Log.LogAttrs(ctx, slog.LevelInfo, "key checked",
		c.about(EventChecked, append(attrs, slog.String("result", results[claim.Answer]))...)...)
	if claim.Answer == First {
		c.o.Log.LogAttrs(ctx, slog.LevelInfo, "key acquired",
			c.about(EventKeyAcquired, append(attrs, slog.Duration("ttl", claim.TTL))...)...)
	}
}

// mark lets the key say that the work is done. The delivery may be acked even
// if Redis does not answer: the work is done, the guards of the handler know
// it, and the key is marked later.
func (c *Consumer) mark(ctx context.Context, s *session, claim Claim) {
	if !c.let(ctx, debt{claim: claim, done: true}) && c.o.Fallback == FailClosed {
		s.pause()
	}
}

func (c *Consumer) succeed(ctx context.Context, s *session, d amqp.Delivery, businessKey string, claim Claim) {
	c.mark(ctx, s, claim)
	c.metrics.passed("", isReplay(d))
	c.ack(ctx, d)
	c.report(ctx, d, outcomeProcessed, "")
	c.after(ctx, d, businessKey)
}

func (c *Consumer) skip(ctx context.Context, d amqp.Delivery, businessKey, guard string) {
	c.o.Log.LogAttrs(ctx, slog.LevelInfo, "skipped: the work is done already",
		c.about(EventSkipped, append(attrsOf(d, businessKey), slog.String("guard", guard))...)...)
	c.ack(ctx, d)
	c.report(ctx, d, outcomeDuplicate, guard)
}

// after runs the late step, which can harm nothing any more.
func (c *Consumer) after(ctx context.Context, d amqp.Delivery, businessKey string) {
	if c.o.After == nil {
		return
	}
	if err := guarded(func() error { return c.o.After(ctx, d, businessKey) }); err != nil {
		c.o.Log.WarnContext(ctx, "late step failed; the work is done and stays done",
			"consumer", c.o.Name, "business_key", businessKey, "err", err)
	}
}

func noBusinessKey(err error) error {
	if err == nil {
		err = errors.New("the business key is empty")
	}
	return Unrecoverable(Typed(TypeNoBusinessKey, fmt.Errorf("no business key: %w", err)))
}

func notOurs(claim Claim) error {
	if claim.Answer == Unreadable {
		return Typed(TypeKeyUnreadable, fmt.Errorf("the key %s is not one of this consumer's: wrong type or value", claim.Key))
	}
	return Typed(TypeKeyHeld, fmt.Errorf("the key %s is held by another run that has not finished", claim.Key))
}

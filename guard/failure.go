package guard

import (
	"context"
	"fmt"
	"log/slog"

	amqp "github.com/rabbitmq/amqp091-go"
)

// fail takes a delivery whose run failed to the ladder: the copy is published
// and confirmed, then the key is released, then the delivery is acked. A crash
// between two of these leaves the message there once more or the key behind,
// never the message gone.
//
// While the ladder does not take the copy the delivery stays in hand, unacked
// and with its key held, and the copy is tried again. When the session ends
// first the message is in its queue again, so that the key is released, and the
// failed run is not counted.
func (c *Consumer) fail(ctx context.Context, s *session, d amqp.Delivery, businessKey string, claim Claim, cause error) {
	failed := failedRuns(d.Headers) + 1
	to := c.o.Ladder.next(failed, cause)
	if !c.toLadder(ctx, s, to, climb(d, c.o.Queue, failed, cause)) {
		c.let(ctx, debt{claim: claim, cause: cause})
		s.giveBack(d)
		return
	}
	if !c.let(ctx, debt{claim: claim, cause: cause}) && c.o.Fallback == FailClosed {
		s.pause()
	}
	c.ack(ctx, d)
	c.o.Log.LogAttrs(ctx, slog.LevelWarn, "run failed",
		c.about(EventRunFailed, append(attrsOf(d, businessKey),
			slog.Int("failed_runs", failed), slog.String("exchange", to.Exchange), slog.String("routing_key", to.RoutingKey),
			slog.String("type", typeOf(cause)), slog.String("err", bounded(cause.Error(), maxMessage)))...)...)
	c.reportFailure(ctx, d, failed, cause)
}

// toLadder publishes until it is confirmed; false when the session ended first.
// One try is made in any case unless the broker has the delivery back already.
func (c *Consumer) toLadder(ctx context.Context, s *session, to Address, m amqp.Publishing) bool {
	for n := 0; !s.lost(); n++ {
		err := c.publisher.publish(ctx, to, m)
		if err == nil {
			return true
		}
		wait := c.o.Backoff.after(n)
		c.o.Log.LogAttrs(ctx, slog.LevelError, "the ladder does not take a message; it stays in hand",
			c.about(EventDegraded, slog.String("message_id", m.MessageId), slog.Duration("again_in", wait), slog.Any("err", err))...)
		if !sleep(s.stop, wait) {
			return false
		}
	}
	return false
}

func (c *Consumer) reportFailure(ctx context.Context, d amqp.Delivery, failed int, cause error) {
	if guard, refused := refusedBy(cause); refused {
		c.metrics.answered(guard, checkedRefused, isReplay(d))
		c.report(ctx, d, outcomeRefused, fmt.Sprintf("%s: %s", guard, typeOf(cause)))
		return
	}
	c.report(ctx, d, outcomeFailed, fmt.Sprintf("failed run %d of %d: %s", failed, c.o.Ladder.Max, typeOf(cause)))
}

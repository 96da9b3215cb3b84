package guard

import (
	"context"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"
)

// run calls the handler, again for a retryable error as often as the options
// allow, and returns what it said last. It does not begin another try when the
// session is over.
func (c *Consumer) run(ctx context.Context, s *session, d amqp.Delivery, businessKey string) error {
	delay := c.o.TryDelay
	for n := 1; ; n++ {
		err := c.try(ctx, d, businessKey)
		if _, duplicate := duplicateOf(err); err == nil || duplicate || final(err) || n >= c.o.Tries {
			return err
		}
		if !sleep(s.stop, delay) || s.lost() {
			return err
		}
		delay *= 2
	}
}

func (c *Consumer) try(ctx context.Context, d amqp.Delivery, businessKey string) error {
	if c.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.o.Timeout)
		defer cancel()
	}
	return guarded(func() error { return c.o.Handle(ctx, d, businessKey) })
}

// guarded turns a panic into an error: one message must not take the others of
// the process down with it.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Typed(TypePanic, fmt.Errorf("panic: %v", p))
		}
	}()
	return f()
}

package guard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// session is one subscription: from the connection to the last delivery in
// hand.
type session struct {
	ch   *amqp.Channel
	stop context.Context // cancelled: take no more deliveries
	quit context.CancelCauseFunc
}

// pause ends the session because Redis does not serve.
func (s *session) pause() { s.quit(errPaused) }

// stopped reports that what was not begun is to be left.
func (s *session) stopped() bool { return s.stop.Err() != nil || s.ch.IsClosed() }

// lost reports that the broker has taken back all deliveries of the session.
func (s *session) lost() bool { return s.ch.IsClosed() }

// giveBack returns a delivery to its queue.
func (s *session) giveBack(d amqp.Delivery) {
	_ = d.Nack(false, true) // on a lost channel the broker has done so itself
}

// consume takes deliveries until ctx is cancelled, Redis fails or the broker
// ends it, and waits for what is in hand: so a run that outlives the connection
// is over before its message can come again. It returns why it ended.
func (c *Consumer) consume(ctx context.Context) error {
	conn, line, err := dial(ctx, c.o.URL, c.o.Name, c.o.Patience)
	if err != nil {
		return err
	}
	defer func() {
		_ = conn.CloseDeadline(time.Now().Add(time.Second))
		_ = line.Close()
	}()
	ch, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("open a channel to consume: %w", err)
	}
	closed := ch.NotifyClose(make(chan *amqp.Error, 1))
	if err := ch.Qos(c.o.Prefetch, 0, false); err != nil {
		return fmt.Errorf("set the prefetch: %w", err)
	}
	deliveries, err := ch.Consume(c.o.Queue, c.o.Name, false, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	c.o.Log.InfoContext(ctx, "consuming", "consumer", c.o.Name, "queue", c.o.Queue)

	stop, quit := context.WithCancelCause(ctx)
	defer quit(nil)
	s := &session{ch: ch, stop: stop, quit: quit}
	unsubscribe := context.AfterFunc(stop, func() { _ = ch.Cancel(c.o.Name, false) })
	defer unsubscribe()
	c.work(context.WithoutCancel(ctx), s, deliveries)
	return whyEnded(stop, closed)
}

// work hands deliveries to the handler until they end. What was taken from the
// broker but not begun when the session stops goes back once.
func (c *Consumer) work(ctx context.Context, s *session, deliveries <-chan amqp.Delivery) {
	var hands sync.WaitGroup
	for range c.o.Concurrency {
		hands.Go(func() {
			for d := range deliveries {
				if s.stopped() {
					s.giveBack(d)
					continue
				}
				c.handle(ctx, s, d)
			}
		})
	}
	hands.Wait()
}

// whyEnded names what ended a session.
func whyEnded(stop context.Context, closed <-chan *amqp.Error) error {
	if stop.Err() != nil {
		return context.Cause(stop)
	}
	select {
	case err := <-closed:
		if err != nil {
			return err
		}
		return amqp.ErrClosed
	default:
		return errors.New("the broker cancelled the consumer")
	}
}

// ack tells the broker that a delivery is done with. If that cannot be told the
// delivery comes again, and meets its key.
func (c *Consumer) ack(ctx context.Context, d amqp.Delivery) bool {
	err := d.Ack(false)
	if err != nil {
		c.o.Log.WarnContext(ctx, "not acked: the message will come again", "consumer", c.o.Name,
			"message_id", d.MessageId, "err", err)
	}
	return err == nil
}

package rabbit

import (
	"context"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// promise is how long a queue may take to send each message that it has said
// it has. To give up on one has its price: see Consumer.fill.
const promise = time.Second

const (
	// streamLooks is how often to look again whether a queue is a stream, and
	// streamPause how long to wait before.
	streamLooks = 2
	streamPause = 250 * time.Millisecond
)

// subscription is one basic.consume … basic.cancel that fills a window.
type subscription struct {
	window   *Window
	tag      string
	prefetch int
	limit    int64 // bytes of the window
	each     func(place int, d Delivery)

	counted    bool // the queue has counted a subscription of ours: it is no stream
	deliveries <-chan amqp.Delivery
	received   int
	largest    int64
	overflow   bool
}

// run takes deliveries until the prefetch is used up, no more come, the window
// overflows or ctx ends; then it cancels and takes what was on the way. It
// returns errOverflow if not all of it fitted into the window.
func (s *subscription) run(ctx context.Context) error {
	if err := s.start(); err != nil {
		return s.window.failure(err)
	}
	if err := s.checkType(ctx); err != nil {
		return err
	}
	if ended := s.collect(ctx); ended {
		return s.endedByBroker()
	}
	if s.received > 0 {
		if err := s.checkType(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	if err := s.cancel(); err != nil {
		return s.window.failure(err)
	}
	return s.check()
}

func (s *subscription) start() error {
	defer s.window.conn.cutAfter(callTimeout)()
	if err := s.window.channel.Qos(s.prefetch, 0, false); err != nil {
		return err
	}
	deliveries, err := s.window.channel.Consume(s.window.queue, s.tag, false, false, false, false, nil)
	s.deliveries = deliveries
	return err
}

// checkType makes sure that the queue is no stream. AMQP has no question for
// that; but a stream counts no consumers, and all other queues count this one. A
// quorum queue whose leader does not answer counts neither it nor messages, so
// that without messages, ready or received, nothing is certain yet.
func (s *subscription) checkType(ctx context.Context) error {
	for look := 0; !s.counted; look++ {
		q, err := s.window.ask()
		switch {
		case err != nil:
			return err
		case q.Consumers > 0:
			s.counted = true
			return nil
		case q.Messages == 0 && s.received == 0:
			return nil
		case look == streamLooks:
			return refusal{ErrWrongType, "it keeps what is acked, so that it cannot be drained"}
		}
		select {
		case <-time.After(streamPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// collect takes what the queue has said it has, or waits for a first message. It
// reports whether the broker ended the subscription.
func (s *subscription) collect(ctx context.Context) bool {
	broken := time.NewTimer(promise)
	defer broken.Stop()
	if len(s.window.deliveries) == 0 {
		broken.Stop() // the first one may take its time
	}
	for s.received < s.prefetch && !s.overflow {
		select {
		case d, ok := <-s.deliveries:
			if !ok {
				return true
			}
			s.take(d)
			broken.Reset(promise)
		case <-broken.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// cancel ends the subscription and takes what the broker had sent before it
// heard of that. Deliveries are read while the broker is asked, so that those
// that do not fit are let go of at once and do not pile up in the client.
func (s *subscription) cancel() error {
	defer s.window.conn.cutAfter(callTimeout)()
	cancelled := make(chan error, 1)
	go func() { cancelled <- s.window.channel.Cancel(s.tag, false) }()
	for d := range s.deliveries {
		s.take(d)
	}
	return <-cancelled
}

// take puts d into the window if it fits.
func (s *subscription) take(d amqp.Delivery) {
	delivery, size := received(d, s.window.headers.take(d.DeliveryTag))
	s.received++
	s.largest = max(s.largest, size)
	if !s.window.add(delivery, size, s.limit) {
		s.overflow = true
	}
	if n := len(s.window.deliveries); !s.overflow {
		s.each(n-1, s.window.deliveries[n-1])
	}
}

// check makes sure that the window holds all that came: an ack covers all tags
// up to the last, those too that nobody has seen.
func (s *subscription) check() error {
	if s.overflow {
		return errOverflow
	}
	if s.window.gap {
		return fmt.Errorf("%w: a delivery went missing on the way; all of the window goes back", ErrUnavailable)
	}
	return nil
}

// endedByBroker finds out why deliveries ended. A window that already holds
// some stays good as long as its channel lives, even if the queue is gone:
// then it may be the last copy.
func (s *subscription) endedByBroker() error {
	w := s.window
	if w.channel.IsClosed() {
		return w.failure(amqp.ErrClosed)
	}
	if len(w.deliveries) > 0 {
		return s.check()
	}
	if _, err := w.ready(); err != nil {
		return err
	}
	return refusal{ErrCancelled, "nothing had come by then"}
}

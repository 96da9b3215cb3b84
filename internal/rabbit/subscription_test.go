package rabbit

import (
	"testing"
	"testing/synctest"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// subscribed is a subscription for n messages, to a window that has one already.
func subscribed(n int, deliveries <-chan amqp.Delivery) *subscription {
	w := &Window{deliveries: make([]Delivery, 1), seen: 1}
	return &subscription{each: func(int, Delivery) {}, window: w, prefetch: n, limit: 1 << 20, deliveries: deliveries}
}

func TestWhatTheQueueHasPromisedIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deliveries := make(chan amqp.Delivery)
		go func() {
			for tag := range uint64(3) {
				time.Sleep(promise - time.Millisecond)
				deliveries <- amqp.Delivery{DeliveryTag: 2 + tag}
			}
		}()
		s := subscribed(3, deliveries)
		if ended := s.collect(t.Context()); ended || s.received != 3 {
			t.Errorf("received %d of 3, ended %v", s.received, ended)
		}
	})
}

func TestBrokenPromiseEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := subscribed(3, make(chan amqp.Delivery))
		if ended := s.collect(t.Context()); ended || s.received != 0 || time.Since(began) != promise {
			t.Errorf("received %d, ended %v, after %v", s.received, ended, time.Since(began))
		}
	})
}

func TestMissingTagIsNotAcked(t *testing.T) {
	t.Parallel()
	s := subscribed(2, nil)
	s.take(amqp.Delivery{DeliveryTag: 2})
	if err := s.check(); err != nil {
		t.Fatalf("tags without a gap: %v", err)
	}
	s.take(amqp.Delivery{DeliveryTag: 4})
	if err := s.check(); err == nil {
		t.Error("tag 3 is missing and the window could be acked; want an error")
	}
}

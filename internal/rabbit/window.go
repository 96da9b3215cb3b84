package rabbit

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Window is a run of deliveries that belong together: the broker forgets or
// takes back all of them at once.
type Window struct {
	conn    *conn
	channel *amqp.Channel
	closed  chan *amqp.Error
	queue   string
	settled atomic.Bool

	deliveries []Delivery
	bytes      int64
	seen       uint64 // the highest tag that came, in the window or not
	gap        bool
}

// window opens a channel for one window.
func (c *conn) window(queue string) (*Window, error) {
	defer c.cutAfter(callTimeout)()
	ch, err := c.Channel()
	if err != nil {
		return nil, callError(err)
	}
	return &Window{
		conn: c, channel: ch, queue: queue,
		closed: ch.NotifyClose(make(chan *amqp.Error, 1)),
	}, nil
}

// Deliveries returns what is in the window, in the order of the queue. There
// is at least one.
func (w *Window) Deliveries() []Delivery { return w.deliveries }

// Ack tells the broker to forget the deliveries, all of them by one frame, and
// waits until it has heard. nil means that they are gone from the queue.
//
// Ack finishes what it began even if ctx ends, within a bound of its own. After
// an error the window is over: the deliveries are gone, or come again as
// redelivered, and never a part of them.
func (w *Window) Ack(context.Context) error {
	return w.settle("ack", func(tag uint64) error { return w.channel.Ack(tag, true) })
}

// Return tells the broker to put the deliveries back where they were, and
// waits until it has heard. It finishes what it began even if ctx ends. After
// an error the window is over, and the broker puts them back by itself.
func (w *Window) Return(context.Context) error {
	return w.settle("return", func(tag uint64) error { return w.channel.Nack(tag, true, true) })
}

func (w *Window) settle(verb string, send func(tag uint64) error) error {
	if !w.settled.CompareAndSwap(false, true) {
		return fmt.Errorf("rabbit: %s window of %s: it was settled before", verb, w.queue)
	}
	defer w.abandon()
	err := send(w.deliveries[len(w.deliveries)-1].Tag)
	if err == nil {
		err = w.ask()
	}
	if err != nil {
		return fmt.Errorf("rabbit: %s window of %s: %w", verb, w.queue, w.failure(err))
	}
	return nil
}

// ask puts a question to the queue itself. Its answer comes after everything
// that was sent on this channel before has been worked off.
func (w *Window) ask() error {
	defer w.conn.cutAfter(callTimeout)()
	_, err := w.channel.QueueDeclarePassive(w.queue, false, false, false, false, nil)
	var e *amqp.Error
	if errors.As(err, &e) && e.Server && e.Code == amqp.AccessRefused {
		return nil // 4.3.0 wants another permission for the question; but it is an answer
	}
	return err
}

// add puts d at the end of the window, unless it does not fit or something
// before it did not.
func (w *Window) add(d amqp.Delivery, size int64, l Limits, closed bool) bool {
	w.gap = w.gap || d.DeliveryTag != w.seen+1
	w.seen = d.DeliveryTag
	if closed || (len(w.deliveries) > 0 && w.bytes+size > l.Bytes) {
		return false
	}
	w.bytes += size
	w.deliveries = append(w.deliveries, Delivery{
		Tag: d.DeliveryTag, Redelivered: d.Redelivered,
		Exchange: d.Exchange, RoutingKey: d.RoutingKey,
		Properties: propertiesOf(d), Headers: d.Headers, Body: d.Body,
	})
	return true
}

// open reports whether the deliveries are still ours to settle.
func (w *Window) open() bool { return !w.settled.Load() && !w.channel.IsClosed() }

// abandon closes the channel, upon which the broker takes back what it still
// counts as delivered.
func (w *Window) abandon() {
	defer w.conn.cutAfter(closeTimeout)()
	_ = w.channel.Close()
}

// failure prefers the reason for which the channel was closed to err, which
// may only say that it is closed.
func (w *Window) failure(err error) error {
	if w.channel.IsClosed() {
		if reason := <-w.closed; reason != nil {
			err = reason
		}
	}
	return callError(err)
}

package rabbit

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Window is a run of deliveries that belong together: the broker forgets or
// takes back all of them at once.
type Window struct {
	// Refilled says that the consumer has given back deliveries, of this window or
	// of one before it that overflowed: what says that it is redelivered may come
	// for the first time.
	Refilled bool

	conn    *conn
	channel *amqp.Channel
	closed  chan *amqp.Error
	queue   string
	headers *headerQueue // of the deliveries on the channel
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
		conn: c, channel: ch, queue: queue, headers: c.headers(),
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
	defer w.close()
	err := send(w.deliveries[len(w.deliveries)-1].Tag)
	if err != nil {
		err = w.failure(err)
	} else {
		_, err = w.ready()
	}
	if err != nil {
		return fmt.Errorf("rabbit: %s window of %s: %w", verb, w.queue, err)
	}
	return nil
}

// ready asks the queue how many messages it has to give. The answer comes after
// everything that was sent on this channel before has been worked off.
func (w *Window) ready() (int, error) {
	q, err := w.ask()
	return q.Messages, err
}

func (w *Window) ask() (amqp.Queue, error) {
	defer w.conn.cutAfter(callTimeout)()
	q, err := w.channel.QueueDeclarePassive(w.queue, false, false, false, false, nil)
	if err != nil {
		return amqp.Queue{}, w.failure(err)
	}
	return q, nil
}

// waitReady is ready, but gives a queue that has less than enough for the
// window a while, or until ctx ends.
func (w *Window) waitReady(ctx context.Context, enough int, linger time.Duration) (int, error) {
	n, err := w.ready()
	if err != nil || n >= enough || len(w.deliveries) == 0 {
		return n, err
	}
	select {
	case <-time.After(linger):
		return w.ready()
	case <-ctx.Done():
		return 0, nil
	}
}

// add puts d at the end of the window, or reports that it does not fit.
func (w *Window) add(d Delivery, size int64, limit int64) bool {
	w.gap = w.gap || d.Tag != w.seen+1
	w.seen = d.Tag
	w.bytes += size
	if len(w.deliveries) > 0 && w.bytes > limit {
		return false
	}
	w.deliveries = append(w.deliveries, d)
	return true
}

// open reports whether the deliveries are still ours to settle.
func (w *Window) open() bool { return !w.settled.Load() && !w.channel.IsClosed() }

// giveBack returns all that came, in the window or not, and closes the channel.
// What the broker does not hear of it, it does when the channel is gone.
func (w *Window) giveBack() {
	defer w.close()
	if w.seen > 0 && w.channel.Nack(w.seen, true, true) == nil {
		_, _ = w.ready()
	}
}

// close closes the channel, upon which the broker takes back what it still
// counts as delivered.
func (w *Window) close() {
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
	return w.conn.explain(callError(err))
}

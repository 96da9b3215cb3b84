package rabbit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// maxSubscriptions is how many subscriptions fill a window at most. A quorum
// queue is told of an ack once for each; from 32 on (its soft limit for
// commands) the broker keeps some back, and drops them if the channel closes.
const maxSubscriptions = 10

// errOverflow: the deliveries took more memory than the window may.
var errOverflow = errors.New("window overflows")

// Limits bound a window.
type Limits struct {
	// Messages is how many deliveries a window holds at most; 0: 100.
	Messages int
	// Bytes is how much they may take in memory, unless the first alone takes
	// more; 0: 32 MiB.
	Bytes int64
	// Linger is how long the queue must be quiet before a window that is not
	// full is handed out; 0: 50 ms.
	Linger time.Duration
	// Each is told of each delivery as it comes, with its place in the window; nil:
	// nobody is. Place 0 begins a window anew: what came before is none any more.
	Each func(place int, d Delivery)
}

func (l Limits) withDefaults() Limits {
	if l.Messages <= 0 {
		l.Messages = 100
	}
	if l.Bytes <= 0 {
		l.Bytes = 32 << 20
	}
	if l.Each == nil {
		l.Each = func(int, Delivery) {}
	}
	if l.Linger <= 0 {
		l.Linger = 50 * time.Millisecond
	}
	return l
}

// Consumer takes messages from queues, a window at a time. It has a connection
// of its own and does not reconnect: when that is lost, the broker takes back
// what was unacked, and the caller dials anew. Next is for one goroutine.
type Consumer struct {
	conn     *conn
	prefetch prefetch
	gaveBack bool   // what had come went back, and comes again as redelivered
	counted  string // the queue that has counted a subscription of ours

	mu     sync.Mutex
	window *Window
}

// DefaultFrameMax is how large a content header may be at most that a consumer
// takes, in bytes, unless it is told otherwise.
const DefaultFrameMax = 4 << 20

// DialConsumer connects to the broker under a name that its operators see. It
// returns ErrUnavailable where that fails.
func DialConsumer(ctx context.Context, url, name string) (*Consumer, error) {
	return DialConsumerWith(ctx, url, name, 0)
}

// DialConsumerWith is DialConsumer for content headers of up to frameMax bytes;
// 0: DefaultFrameMax. Brokers send a content header as one frame however large
// it is. A message with a larger one is ErrPoison.
func DialConsumerWith(ctx context.Context, url, name string, frameMax int) (*Consumer, error) {
	if frameMax <= 0 {
		frameMax = DefaultFrameMax
	}
	c, err := dialFiltered(ctx, url, name, frameMax)
	if err != nil {
		return nil, err
	}
	return &Consumer{conn: c}, nil
}

// Next waits for a first delivery of queue and collects what comes after it,
// until the window is full or the queue is quiet. When it returns, the
// subscription is cancelled and everything the broker had sent is in the window.
//
// It takes what the queue says it has; no other consumer should share it.
//
// If ctx ends before the first delivery, Next returns the error of ctx; if it
// ends later, it returns the window as it is. It returns ErrQueueMissing,
// ErrPoison or ErrUnavailable where the broker gives no window: then nothing is
// held, and what had come is in the queue again. The window before must have
// been acked or returned.
func (c *Consumer) Next(ctx context.Context, queue string, l Limits) (*Window, error) {
	if c.Held() > 0 {
		return nil, errors.New("rabbit: the window before is still held")
	}
	w, err := c.next(ctx, queue, l.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("rabbit: consume %s: %w", queue, err)
	}
	c.mu.Lock()
	c.window = w
	c.mu.Unlock()
	return w, nil
}

// Held returns how many deliveries are out and neither acked nor returned.
func (c *Consumer) Held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.window == nil || !c.window.open() {
		return 0
	}
	return len(c.window.deliveries)
}

// Close gives back a window that is still held, and disconnects.
func (c *Consumer) Close() error {
	c.mu.Lock()
	w := c.window
	c.mu.Unlock()
	if w != nil && w.open() {
		// What the broker does not hear now it does by itself once we are gone.
		_ = w.Return(context.Background())
	}
	if err := c.conn.shut(); err != nil {
		return fmt.Errorf("rabbit: disconnect: %w", err)
	}
	return nil
}

// next fills a window, and fills it anew where more came than fits: all of it
// goes back first, so that nothing is out beside the window.
func (c *Consumer) next(ctx context.Context, queue string, l Limits) (*Window, error) {
	for {
		w, err := c.open(ctx, queue, l)
		if err == nil {
			w.Refilled = c.gaveBack
		}
		if !errors.Is(err, errOverflow) {
			return w, err
		}
	}
}

// open opens a channel for one window. A channel that lives no longer than its
// window makes sure that nothing is left over: the broker takes back whatever
// a closed channel had.
func (c *Consumer) open(ctx context.Context, queue string, l Limits) (*Window, error) {
	w, err := c.conn.window(queue)
	if err != nil {
		return nil, err
	}
	err = c.fill(ctx, w, l)
	if err == nil && len(w.deliveries) > 0 {
		return w, nil
	}
	c.gaveBack = c.gaveBack || w.seen > 0
	w.giveBack()
	if err == nil {
		err = context.Cause(ctx)
	}
	return nil, err
}

// fill subscribes again and again, each time for no more than is known to fit
// and to be there. A subscription that has brought all it asked for can be
// cancelled with nothing on the way. That matters for quorum queues, which may
// send deliveries after they have confirmed the end of a subscription; the
// client library drops those, and they come again as redelivered.
func (c *Consumer) fill(ctx context.Context, w *Window, l Limits) error {
	for i := range maxSubscriptions {
		n := c.prefetch.next(l, len(w.deliveries), w.bytes)
		if n == 0 {
			return nil
		}
		ready, err := w.waitReady(ctx, n, l.Linger)
		if err != nil || (ready == 0 && len(w.deliveries) > 0) {
			return err
		}
		s := &subscription{window: w, tag: tagOf(i), prefetch: max(1, min(n, ready)), limit: l.Bytes, each: l.Each, counted: c.counted == w.queue}
		if err = s.run(ctx); s.counted {
			c.counted = w.queue
		}
		c.prefetch.saw(s.received, s.largest)
		if err != nil || s.received < s.prefetch {
			return err
		}
	}
	return nil
}

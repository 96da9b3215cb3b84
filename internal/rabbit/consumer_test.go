package rabbit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/errgroup"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

func dialConsumer(t testing.TB, url string) *rabbit.Consumer {
	t.Helper()
	c, err := rabbit.DialConsumer(t.Context(), url, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// nextWindow returns the next window, which must come within reason.
func nextWindow(t testing.TB, c *rabbit.Consumer, queue string, l rabbit.Limits) *rabbit.Window {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := c.Next(ctx, queue, l)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// fill puts messages with the numbers 0 … n-1 as bodies into queue.
func fill(t testing.TB, v *rabbittest.Vhost, queue string, n int) {
	t.Helper()
	for i := range n {
		v.Publish(t, "", queue, amqp.Publishing{Body: []byte(strconv.Itoa(i))})
	}
}

func bodies(w *rabbit.Window) []string {
	var all []string
	for _, d := range w.Deliveries() {
		all = append(all, string(d.Body))
	}
	return all
}

func numbers(from, to int) []string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, strconv.Itoa(i))
	}
	return all
}

// onBoth runs a test on a classic and on a quorum queue called q.
func onBoth(t *testing.T, test func(t *testing.T, v *rabbittest.Vhost)) {
	t.Helper()
	rabbittest.OnEachKind(t, "q", test)
}

func TestWindowsTakeTheQueueInOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, v *rabbittest.Vhost) {
		fill(t, v, "q", 25)
		c := dialConsumer(t, v.URL)
		var got []string
		for _, want := range []int{10, 10, 5} {
			w := nextWindow(t, c, "q", rabbit.Limits{Messages: 10})
			if n := len(w.Deliveries()); n != want || c.Held() != want {
				t.Fatalf("window of %d, held %d; want %d", n, c.Held(), want)
			}
			got = append(got, bodies(w)...)
			if err := w.Ack(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.Held() != 0 {
				t.Errorf("%d held after Ack", c.Held())
			}
		}
		if diff := cmp.Diff(numbers(0, 25), got); diff != "" {
			t.Errorf("bodies (-want +got):\n%s", diff)
		}
	})
}

func TestNothingIsInFlightBesideAWindow(t *testing.T) {
	onBoth(t, func(t *testing.T, v *rabbittest.Vhost) {
		c := dialConsumer(t, v.URL)
		total, taken := 0, 0
		for round := range 30 {
			fill(t, v, "q", 1+round%7)
			total += 1 + round%7
			w := nextWindow(t, c, "q", rabbit.Limits{Messages: 1 + round%5, Linger: time.Millisecond})
			// Ready and in the window is all there is: nothing is on the way.
			poll.Until(t, patience, func() error {
				if ready := v.Depth(t, "q"); ready != total-taken-len(w.Deliveries()) {
					return fmt.Errorf("round %d: %d ready and %d in the window of %d", round, ready, len(w.Deliveries()), total-taken)
				}
				return nil
			})
			taken += len(w.Deliveries())
			if err := w.Ack(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestWindowsOfABusyQueueHoldEachMessageOnce publishes all the while, so that
// deliveries cross with the ends of subscriptions. A redelivered one would show
// that something was on the way beside a window, or that an ack did not hold.
func TestWindowsOfABusyQueueHoldEachMessageOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, v *rabbittest.Vhost) {
		const publishers, each = 4, 150
		p := newPublisher(t, v.URL)
		var publishing errgroup.Group
		for i := range publishers {
			publishing.Go(func() error {
				for j := range each {
					if err := p.Publish(t.Context(), toQueue("q", strconv.Itoa(i*each+j))); err != nil {
						return err
					}
				}
				return nil
			})
		}
		c := dialConsumer(t, v.URL)
		seen := map[string]int{}
		for len(seen) < publishers*each {
			w := nextWindow(t, c, "q", rabbit.Limits{Messages: 200, Linger: time.Millisecond})
			for _, d := range w.Deliveries() {
				if seen[string(d.Body)]++; seen[string(d.Body)] > 1 || d.Redelivered {
					t.Errorf("message %s came %d times, redelivered %v", d.Body, seen[string(d.Body)], d.Redelivered)
				}
			}
			if err := w.Ack(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := publishing.Wait(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAckHoldsAfterTheConnectionIsLost(t *testing.T) {
	onBoth(t, func(t *testing.T, v *rabbittest.Vhost) {
		fill(t, v, "q", 20)
		at, proxy := through(t, v.URL)
		w := nextWindow(t, dialConsumer(t, at), "q", rabbit.Limits{Messages: 12})
		if err := w.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		proxy.Cut()
		w = nextWindow(t, dialConsumer(t, v.URL), "q", rabbit.Limits{})
		if diff := cmp.Diff(numbers(12, 20), bodies(w)); diff != "" {
			t.Errorf("what is left (-want +got):\n%s", diff)
		}
	})
}

func TestReturnedWindowComesAgainInOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, v *rabbittest.Vhost) {
		fill(t, v, "q", 100)
		c := dialConsumer(t, v.URL)
		w := nextWindow(t, c, "q", rabbit.Limits{Messages: 100})
		if err := w.Return(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c.Held() != 0 {
			t.Errorf("%d held after Return", c.Held())
		}
		w = nextWindow(t, c, "q", rabbit.Limits{Messages: 100})
		if diff := cmp.Diff(numbers(0, 100), bodies(w)); diff != "" {
			t.Errorf("bodies (-want +got):\n%s", diff)
		}
		for _, d := range w.Deliveries() {
			if !d.Redelivered {
				t.Errorf("delivery %d is not marked redelivered", d.Tag)
			}
		}
	})
}

func TestWindowIsSettledOnce(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	fill(t, v, "q", 2)
	c := dialConsumer(t, v.URL)
	w := nextWindow(t, c, "q", rabbit.Limits{Messages: 1})
	if _, err := c.Next(t.Context(), "q", rabbit.Limits{}); err == nil {
		t.Error("got a second window beside the first; want an error")
	}
	if err := w.Return(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Ack(t.Context()); err == nil {
		t.Error("acked what was returned; want an error")
	}
	if n := v.Depth(t, "q"); n != 2 {
		t.Errorf("depth %d; want both back", n)
	}
}

func TestEndOfContextLeavesTheWindowUsable(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	c := dialConsumer(t, v.URL)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Next(ctx, "q", rabbit.Limits{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("empty queue: got %v; want the deadline", err)
	}

	// The wait for a second message ends with ctx.
	fill(t, v, "q", 1)
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	w, err := c.Next(ctx, "q", rabbit.Limits{Linger: time.Hour})
	if err != nil {
		t.Fatalf("got %v; want the window as it is", err)
	}
	if err := w.Ack(ctx); err != nil {
		t.Errorf("ack with the context that has ended: %v", err)
	}
	if n := v.Depth(t, "q"); n != 0 || c.Held() != 0 {
		t.Errorf("depth %d, held %d; want 0", n, c.Held())
	}
}

func TestMissingQueue(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	c := dialConsumer(t, v.URL)
	if _, err := c.Next(t.Context(), "q", rabbit.Limits{}); !errors.Is(err, rabbit.ErrQueueMissing) || onlyOne(err) != 1 {
		t.Fatalf("got %v; want ErrQueueMissing", err)
	}
	v.Queue(t, "q", nil)
	fill(t, v, "q", 1)
	if w := nextWindow(t, c, "q", rabbit.Limits{}); len(w.Deliveries()) != 1 {
		t.Error("the same consumer does not work once the queue is there")
	}
}

func TestQueueIsDeletedWhileWaiting(t *testing.T) {
	onBoth(t, func(t *testing.T, v *rabbittest.Vhost) {
		c := dialConsumer(t, v.URL)
		got := make(chan error, 1)
		go func() {
			_, err := c.Next(context.Background(), "q", rabbit.Limits{})
			got <- err
		}()
		waitForConsumer(t, v.URL, "q")
		v.Manage(t, "DELETE", "/api/queues/"+v.Name+"/q", "")
		err := <-got
		// A quorum queue may end its subscriptions some moments before it is gone.
		poll.Until(t, patience, func() error {
			if errors.Is(err, rabbit.ErrQueueMissing) {
				return nil
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			was := err
			_, err = c.Next(ctx, "q", rabbit.Limits{})
			return fmt.Errorf("got %w; want ErrQueueMissing", was)
		})
	})
}

func waitForConsumer(t *testing.T, url, queue string) {
	t.Helper()
	i := rabbit.NewInspector(url, t.Name())
	defer i.Close()
	poll.Until(t, patience, func() error {
		_, consumers, err := i.Depth(t.Context(), queue)
		if err == nil && consumers != 1 {
			err = fmt.Errorf("%d consumers", consumers)
		}
		return err
	})
}

func TestQueueIsDeletedWhileAWindowIsOut(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	fill(t, v, "q", 3)
	c := dialConsumer(t, v.URL)
	w := nextWindow(t, c, "q", rabbit.Limits{})
	v.Manage(t, "DELETE", "/api/queues/"+v.Name+"/q", "")
	if err := w.Ack(t.Context()); !errors.Is(err, rabbit.ErrQueueMissing) {
		t.Errorf("got %v; want ErrQueueMissing", err)
	}
	if c.Held() != 0 {
		t.Errorf("%d held", c.Held())
	}
}

func TestLostConnection(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)

	t.Run("while waiting", func(t *testing.T) {
		t.Parallel()
		v.Queue(t, "empty", nil)
		at, proxy := through(t, v.URL)
		c := dialConsumer(t, at)
		got := make(chan error, 1)
		go func() {
			_, err := c.Next(context.Background(), "empty", rabbit.Limits{})
			got <- err
		}()
		waitForConsumer(t, v.URL, "empty")
		proxy.Cut()
		if err := <-got; !errors.Is(err, rabbit.ErrUnavailable) || errors.Is(err, rabbit.ErrPoison) {
			t.Errorf("got %v; want ErrUnavailable", err)
		}
		if _, err := c.Next(t.Context(), "empty", rabbit.Limits{}); !errors.Is(err, rabbit.ErrUnavailable) {
			t.Errorf("again: got %v; want ErrUnavailable", err)
		}
	})
	t.Run("while a window is out", func(t *testing.T) {
		t.Parallel()
		fill(t, v, "q", 5)
		at, proxy := through(t, v.URL)
		c := dialConsumer(t, at)
		w := nextWindow(t, c, "q", rabbit.Limits{Messages: 5})
		proxy.Cut()
		if err := w.Ack(t.Context()); !errors.Is(err, rabbit.ErrUnavailable) {
			t.Errorf("got %v; want ErrUnavailable", err)
		}
		if c.Held() != 0 {
			t.Errorf("%d held over a lost connection", c.Held())
		}
		poll.True(t, patience, "the broker has all back", func() bool { return v.Depth(t, "q") == 5 })
	})
}

func TestCloseGivesBackWhatIsHeld(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	fill(t, v, "q", 4)
	c := dialConsumer(t, v.URL)
	nextWindow(t, c, "q", rabbit.Limits{})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if n := v.Depth(t, "q"); n != 4 {
		t.Errorf("depth %d; want 4", n)
	}
	if err := c.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

func TestWhatIsClosedLeavesNoConnection(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	at, proxy := through(t, v.URL)
	p, i, c := newPublisher(t, at), newInspector(t, at), dialConsumer(t, at)
	if err := p.Publish(t.Context(), toQueue("q", "x")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := i.Depth(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	nextWindow(t, c, "q", rabbit.Limits{})
	if n := proxy.Connections(); n != 3 {
		t.Fatalf("%d connections; want one each", n)
	}
	if err := errors.Join(p.Close(), i.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	poll.True(t, patience, "all connections are gone", func() bool { return proxy.Connections() == 0 })
}

func TestCloseEndsAWait(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	c := dialConsumer(t, v.URL)
	got := make(chan error, 1)
	go func() {
		_, err := c.Next(context.Background(), "q", rabbit.Limits{})
		got <- err
	}()
	waitForConsumer(t, v.URL, "q")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; !errors.Is(err, rabbit.ErrUnavailable) {
		t.Errorf("got %v; want ErrUnavailable", err)
	}
}

func TestLargeBodiesMakeSmallWindows(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	const count, size, limit = 7, 10 << 20, 32 << 20
	body := make([]byte, size)
	for i := range count {
		body[0] = byte(i)
		v.Publish(t, "", "q", amqp.Publishing{Body: slices.Clone(body)})
	}
	c := dialConsumer(t, v.URL)
	for next := 0; next < count; {
		w := nextWindow(t, c, "q", rabbit.Limits{Messages: 500, Bytes: limit, Linger: 200 * time.Millisecond})
		held := 0
		for _, d := range w.Deliveries() {
			held += cap(d.Body)
			if int(d.Body[0]) != next || len(d.Body) != size || d.Redelivered {
				t.Fatalf("message %d of %d bytes, redelivered %v; want %d, for the first time", d.Body[0], len(d.Body), d.Redelivered, next)
			}
			next++
		}
		if held > limit {
			t.Errorf("window holds %d bytes; want at most %d", held, limit)
		}
		if err := w.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBodiesThatOutgrowWhatWasLearntGoBack(t *testing.T) {
	onBoth(t, func(t *testing.T, v *rabbittest.Vhost) {
		const limit = 1 << 20
		c := dialConsumer(t, v.URL)
		limits := rabbit.Limits{Messages: 100, Bytes: limit, Linger: 100 * time.Millisecond}
		fill(t, v, "q", 100)
		w := nextWindow(t, c, "q", limits)
		if w.Refilled {
			t.Error("the first window says that it was filled anew")
		}
		if err := w.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			body := make([]byte, 600<<10)
			body[0] = byte(i)
			v.Publish(t, "", "q", amqp.Publishing{Body: body})
		}
		seen := map[byte]bool{}
		for len(seen) < 8 {
			w := nextWindow(t, c, "q", limits)
			if n := len(w.Deliveries()); n > 1 {
				t.Errorf("window of %d large messages; want one", n)
			}
			if !w.Refilled { // all of them went back once
				t.Errorf("window behind %d large messages: not called filled anew", len(seen))
			}
			seen[w.Deliveries()[0].Body[0]] = true
			if err := w.Ack(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := v.Depth(t, "q"); n != 0 {
			t.Errorf("depth %d; want 0", n)
		}
	})
}

func TestOneMessageLargerThanAllBytesIsAWindow(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	for range 2 {
		v.Publish(t, "", "q", amqp.Publishing{Body: make([]byte, 1<<20)})
	}
	c := dialConsumer(t, v.URL)
	for range 2 {
		w := nextWindow(t, c, "q", rabbit.Limits{Bytes: 1000})
		if len(w.Deliveries()) != 1 {
			t.Fatalf("window of %d; want 1", len(w.Deliveries()))
		}
		if err := w.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnreachableBrokerGivesNoConsumer(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	at, proxy := through(t, v.URL)
	proxy.Refuse(true)
	if _, err := rabbit.DialConsumer(t.Context(), at, "x"); !errors.Is(err, rabbit.ErrUnavailable) {
		t.Errorf("refused: got %v; want ErrUnavailable", err)
	}
	proxy.Refuse(false)
	proxy.Hold(true)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := rabbit.DialConsumer(ctx, at, "x"); !errors.Is(err, rabbit.ErrUnavailable) {
		t.Errorf("silent: got %v; want ErrUnavailable", err)
	}
}

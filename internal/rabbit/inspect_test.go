package rabbit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

func newInspector(t *testing.T, url string) *rabbit.Inspector {
	t.Helper()
	i := rabbit.NewInspector(url, t.Name())
	t.Cleanup(func() { _ = i.Close() })
	return i
}

func TestDepthCountsWhatIsReady(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	for range 5 {
		v.Publish(t, "", "q", amqp.Publishing{})
	}
	nextWindow(t, dialConsumer(t, v.URL), "q", rabbit.Limits{Messages: 2})
	i := newInspector(t, v.URL)
	if ready, consumers, err := i.Depth(t.Context(), "q"); ready != 3 || consumers != 0 || err != nil {
		t.Errorf("got %d, %d, %v; want 3 ready and no consumer", ready, consumers, err)
	}
	if ready, _, err := rabbit.Depth(t.Context(), v.URL, "q"); ready != 3 || err != nil {
		t.Errorf("asked once: got %d, %v; want 3", ready, err)
	}
}

func TestInspectorOutlivesAMissingQueueAndALostConnection(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	at, proxy := through(t, v.URL)
	i := newInspector(t, at)
	ask := func(queue string) error {
		_, _, err := i.Depth(t.Context(), queue)
		return err
	}
	if err := ask("gone"); !errors.Is(err, rabbit.ErrQueueMissing) {
		t.Fatalf("got %v; want ErrQueueMissing", err)
	}
	if err := ask("q"); err != nil {
		t.Fatalf("after that: %v", err)
	}
	if n := proxy.Connections(); n != 1 {
		t.Errorf("%d connections for two questions; want 1", n)
	}
	proxy.Refuse(true)
	proxy.Cut()
	if err := ask("q"); !errors.Is(err, rabbit.ErrUnavailable) {
		t.Fatalf("got %v; want ErrUnavailable", err)
	}
	proxy.Refuse(false)
	if err := ask("q"); err != nil {
		t.Errorf("broker is back: %v", err)
	}
}

func TestSilentBrokerDoesNotHoldUpAQuestion(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	at, proxy := through(t, v.URL)
	i := newInspector(t, at)
	if _, _, err := i.Depth(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	proxy.Hold(true)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := i.Depth(ctx, "q"); !errors.Is(err, rabbit.ErrUnavailable) {
		t.Errorf("got %v; want ErrUnavailable", err)
	}
}

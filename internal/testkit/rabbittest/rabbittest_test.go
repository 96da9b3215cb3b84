package rabbittest_test

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

func TestMessageGoesThroughExchangeAndQueue(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Exchange(t, "ex", amqp.ExchangeDirect, nil)
	v.Queue(t, "q", nil)
	v.Bind(t, "q", "key", "ex")

	v.Publish(t, "ex", "key", amqp.Publishing{Body: []byte("hello")})

	if n := v.Depth(t, "q"); n != 1 {
		t.Errorf("depth %d, want 1", n)
	}
	got, ok := v.Get(t, "q")
	if !ok || string(got.Body) != "hello" {
		t.Errorf("got %q (%v), want hello", got.Body, ok)
	}
	if _, ok := v.Get(t, "q"); ok {
		t.Error("the queue still has a message")
	}
}

func TestCloseConnectionsCutsTheProgramsNotTheHelpers(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	conn, err := amqp.Dial(v.URL)
	if err != nil {
		t.Fatal(err)
	}

	poll.True(t, 10*time.Second, "one connection cut", func() bool { return v.CloseConnections(t) == 1 })

	poll.True(t, 10*time.Second, "connection closed", conn.IsClosed)
	if n := v.Depth(t, "q"); n != 0 {
		t.Errorf("depth %d, want 0", n)
	}
}

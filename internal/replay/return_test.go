package replay_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
)

// From the terminal queue and back, with nothing but the real parts: drained,
// replayed, dead again on the same thread, replayed again as its second life.
func TestMessageThatComesBackDeadIsTheSameThread(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	o.vhost.Exchange(t, "ex.dlx", "fanout", nil)
	o.vhost.Queue(t, "q.terminal", nil)
	o.vhost.Bind(t, "q.terminal", "", "ex.dlx")
	o.vhost.Queue(t, "q.dying", amqp.Table{"x-dead-letter-exchange": "ex.dlx", "x-message-ttl": int32(1)})

	ctx, cancel := context.WithCancel(t.Context())
	drain := dlq.NewDrain(dlq.DrainOptions{
		Source: dlq.Source{
			Name: "pay-success", Broker: "pay", Queue: "q.terminal", OriginalQueue: "q.dying",
			BusinessKey: []dlq.KeyFinder{{Body: "$.orderNo"}},
		},
		URL: o.vhost.URL, Pool: o.pool, Returns: o.Service, Metrics: dlq.NewMetrics(prometheus.NewRegistry(), []string{"pay-success"}),
	})
	done := make(chan error, 1)
	go func() { done <- drain.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })

	o.vhost.Publish(t, "", "q.dying", amqp.Publishing{Body: []byte(`{"orderNo":"O1"}`)})
	one := func(round int) dlq.Message {
		var m dlq.Message
		poll.Until(t, patience, func() error {
			page, err := o.store.List(t.Context(), dlq.Filter{})
			if err != nil || len(page.Messages) != 1 || page.Messages[0].Round != round || page.Messages[0].State != dlq.Open {
				return errors.Join(err, fmt.Errorf("%+v, want one open message in round %d", page.Messages, round))
			}
			m = page.Messages[0]
			return nil
		})
		return m
	}
	m := one(1)
	first := o.send(t, m.ID)
	if again := one(2); again.ID != m.ID {
		t.Fatalf("came back as %s, was %s", again.ID, m.ID)
	}
	o.await(t, m.ID, standing{dlq.Open, replay.Sent, replay.DeadAgain, replay.FromDeadLetter})
	o.send(t, m.ID)
	one(3)
	items, err := o.Attempts(t.Context(), m.ID, 0, 100)
	if err != nil || len(items) != 2 || items[0].Round != 2 || items[1].Round != 1 || items[1].ReplayID != first.ReplayID {
		t.Errorf("attempts: %+v, %v", items, err)
	}
}

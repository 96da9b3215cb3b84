package rabbittest

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// OnEachKind runs a test in parallel with itself, once for each kind of queue
// that dead letters wait in: each time on a virtual host of its own with a
// queue of that kind. Quorum queues have the broker's own delivery limit, which
// is 20 from RabbitMQ 4.0 on and none before.
func OnEachKind(t *testing.T, queue string, test func(t *testing.T, v *Vhost)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []string{"classic", "quorum"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			v := New(t)
			v.Queue(t, queue, amqp.Table{"x-queue-type": kind})
			test(t, v)
		})
	}
}

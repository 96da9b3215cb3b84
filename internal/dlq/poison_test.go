package dlq

import (
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// Headers that outgrew the frames that this console takes end each connection
// that reads them, and a quorum queue counts that. So the drain takes what is
// before them and stops, until somebody does something.
func TestHeadersThatOutgrewTheFrameStopTheirSourceAndNoOther(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), rabbittest.New(t)
	v.Queue(t, paySource.Queue, rabbit.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(6)})
	v.Queue(t, "work", rabbit.Table{
		"x-max-length": int32(0), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": paySource.Queue,
	})
	other := Source{Name: "other", Queue: "q.other"}
	v.Queue(t, other.Queue, nil)
	publish(t, v, "before", "before too")
	v.Publish(t, "", "work", amqp.Publishing{Headers: amqp.Table{"h": strings.Repeat("x", 131000)}, Body: []byte("outgrown")})
	poll.True(t, patience, "it is dead", func() bool { return v.Depth(t, paySource.Queue) == 3 })
	publish(t, v, "behind")

	d, stop := running(t, DrainOptions{URL: v.URL, Pool: pool, FrameMax: 131072})
	running(t, DrainOptions{URL: v.URL, Pool: pool, Source: other})

	untilStored(t, pool, 2, 0)
	if s := untilState(t, d, SourceBlocked); !strings.Contains(s.Why, "frame_max") {
		t.Errorf("why %q", s.Why)
	}
	send(t, v, rabbit.Message{RoutingKey: other.Queue, Body: []byte("elsewhere")})
	untilStored(t, pool, 3, 0)
	poll.True(t, patience, "what cannot be read is in the queue", func() bool { return v.Depth(t, paySource.Queue) == 2 })

	stop() // and its owner lets it take larger frames
	running(t, DrainOptions{URL: v.URL, Pool: pool})
	untilStored(t, pool, 5, 0)
	untilSettled(t, pool, v)
}

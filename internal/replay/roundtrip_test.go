package replay_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// TestMessagesOfAnyShapeComeBackToTheirConsumer goes all the way: messages of
// random shape die, are drained into Postgres, replayed, and taken by a consumer
// of the client library's own. Half of them die by the broker's hand; the others
// are put into the terminal queue by a consumer.
func TestMessagesOfAnyShapeComeBackToTheirConsumer(t *testing.T) {
	for _, kind := range []string{"classic", "quorum"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const count = 60
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 0))
			o := setUp(t, func(o *replay.Options) { o.Plans[0].Spaces = nil })
			o.vhost.Queue(t, "q.terminal", amqp.Table{"x-queue-type": kind})
			o.vhost.Queue(t, "q.dying", amqp.Table{
				"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q.terminal", "x-message-ttl": int32(1), "x-queue-type": "classic",
			})
			want := map[string]amqp.Publishing{}
			for i := range count {
				m := rabbittest.RandomMessage(r, i)
				want[m.MessageId] = m
				o.vhost.Publish(t, "", []string{"q.dying", "q.terminal"}[i%2], m)
			}
			o.drainAll(t, count)
			for _, id := range o.ids(t, count) {
				r := o.request(id)
				r.Override = []replay.Verdict{replay.NoKey}
				if result, err := o.Replay(t.Context(), r); err != nil || result.Attempt != replay.Sent {
					t.Fatalf("replay: %+v, %v; want it sent", result, err)
				}
			}
			for _, d := range o.consume(t, work, count) {
				m, there := want[d.MessageId]
				if !there {
					t.Fatalf("message %q came twice, or was never sent", d.MessageId)
				}
				delete(want, d.MessageId)
				checkReplayed(t, m, d)
			}
		})
	}
}

// drainAll drains n messages out of q.terminal, whose original queue is work.
func (o *office) drainAll(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	drain := dlq.NewDrain(dlq.DrainOptions{
		Source: dlq.Source{Name: "pay-success", Broker: "pay", Queue: "q.terminal", OriginalQueue: work},
		URL:    o.vhost.URL, Pool: o.pool, Returns: o.Service, Metrics: dlq.NewMetrics(prometheus.NewRegistry(), []string{"pay-success"}),
	})
	done := make(chan error, 1)
	go func() { done <- drain.Run(ctx) }()
	poll.Until(t, patience, func() error {
		var got int
		err := o.pool.QueryRow(t.Context(), "SELECT count(*) FROM dead_letters").Scan(&got)
		if err == nil && got != n {
			err = fmt.Errorf("%d of %d are drained", got, n)
		}
		return err
	})
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// ids are the messages in the store, none of which may be in quarantine.
func (o *office) ids(t *testing.T, n int) []string {
	t.Helper()
	page, err := o.store.List(t.Context(), dlq.Filter{Limit: 2 * n})
	if err != nil || len(page.Messages) != n {
		t.Fatalf("%d messages, %v; want %d", len(page.Messages), err, n)
	}
	var ids []string
	for _, m := range page.Messages {
		if m.Quarantine != "" {
			t.Errorf("message %s is in quarantine: %s", m.ID, m.Quarantine)
		}
		ids = append(ids, m.ID)
	}
	return ids
}

func (o *office) consume(t *testing.T, queue string, n int) []amqp.Delivery {
	t.Helper()
	conn, err := amqp.Dial(o.vhost.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	deliveries, err := ch.ConsumeWithContext(t.Context(), queue, "", true, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []amqp.Delivery
	timeout := time.After(patience)
	for len(all) < n {
		select {
		case d := <-deliveries:
			all = append(all, d)
		case <-timeout:
			t.Fatal(errors.New("only " + strconv.Itoa(len(all)) + " came"))
		}
	}
	return all
}

// checkReplayed compares what was published first with what its consumer got
// in the end. A replay takes out what the broker wrote at the death, and the two
// properties for which it would refuse or lose the message, and adds its own
// three headers.
func checkReplayed(t *testing.T, want amqp.Publishing, d amqp.Delivery) {
	t.Helper()
	headers := maps.Clone(d.Headers)
	for _, name := range []string{replay.HeaderMessageID, replay.HeaderReplayID, replay.HeaderRound} {
		if _, there := headers[name]; !there {
			t.Errorf("message %s came without %s", d.MessageId, name)
		}
		delete(headers, name)
	}
	if !rabbittest.SameOnTheWire(headers, want.Headers) {
		t.Errorf("headers %#v; want %#v", headers, want.Headers)
	}
	got := amqp.Publishing{
		ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: d.DeliveryMode, Priority: d.Priority,
		CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo, MessageId: d.MessageId, Timestamp: d.Timestamp, Type: d.Type, AppId: d.AppId, Body: d.Body,
	}
	want.Headers, want.UserId, want.Expiration = nil, "", ""
	sameTime := cmp.Comparer(func(a, b time.Time) bool { return a.Unix() == b.Unix() })
	if diff := cmp.Diff(want, got, sameTime, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(amqp.Publishing{})); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

package rabbit_test

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// TestMessagesOfAnyShapeSurviveTheWayThroughTheConsole is the way of a dead
// letter but for the store: broker, delivery, bytes, and back to a consumer that
// shares no code with us but the client library.
func TestMessagesOfAnyShapeSurviveTheWayThroughTheConsole(t *testing.T) {
	onBoth(t, func(t *testing.T, v *rabbittest.Vhost) {
		const count = 60
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		v.Queue(t, "again", nil)
		p := newPublisher(t, v.URL)
		want := map[string]amqp.Publishing{} // quorum queues of 4.0 give high priorities first
		for i := range count {
			m := rabbittest.RandomMessage(r, i)
			want[m.MessageId] = m
			v.Publish(t, "", "q", m)
		}
		for _, d := range takeAll(t, v.URL, "q", count) {
			if d.Unreadable != "" || !bytes.Equal(d.Body, want[d.Properties.MessageID].Body) {
				t.Fatalf("message %s: unreadable %q, body %s", d.Properties.MessageID, d.Unreadable, hex.EncodeToString(d.Body))
			}
			if err := p.Publish(t.Context(), throughBytes(t, d)); err != nil {
				t.Fatal(err)
			}
		}
		deliveries, err := channelOf(t, v.URL).ConsumeWithContext(t.Context(), "again", "", true, false, false, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range count {
			d := <-deliveries
			m, there := want[d.MessageId]
			if !there {
				t.Fatalf("message %q came twice, or was never sent", d.MessageId)
			}
			delete(want, d.MessageId)
			checkArrived(t, m, d)
		}
	})
}

// throughBytes is the message that d gives after it was kept as bytes alone.
func throughBytes(t *testing.T, d rabbit.Delivery) rabbit.Message {
	t.Helper()
	headers, err := rabbit.EncodeHeaders(d.Headers)
	if err != nil {
		t.Fatal(err)
	}
	properties, err := rabbit.EncodeProperties(d.Properties)
	if err != nil {
		t.Fatal(err)
	}
	m := rabbit.Message{RoutingKey: "again", Body: d.Body}
	if m.Headers, err = rabbit.DecodeHeaders(headers); err != nil {
		t.Fatal(err)
	}
	if m.Properties, err = rabbit.DecodeProperties(properties); err != nil {
		t.Fatal(err)
	}
	return m
}

func checkArrived(t *testing.T, want amqp.Publishing, d amqp.Delivery) {
	t.Helper()
	got := amqp.Publishing{
		ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: d.DeliveryMode, Priority: d.Priority,
		CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo, Expiration: d.Expiration, MessageId: d.MessageId, Timestamp: d.Timestamp,
		Type: d.Type, UserId: d.UserId, AppId: d.AppId, Body: d.Body,
	}
	if got.Headers = d.Headers; got.Headers == nil {
		got.Headers = amqp.Table{} // the client library does not send an empty one
	}
	if !rabbittest.SameOnTheWire(got.Headers, want.Headers) {
		t.Errorf("headers %#v; want %#v", got.Headers, want.Headers)
	}
	got.Headers, want.Headers = nil, nil
	if diff := cmp.Diff(want, got, onTheWire, cmpopts.IgnoreUnexported(amqp.Publishing{})); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

// TestHeadersAreTheBytesThatTheClientLibrarySends listens on the line. The
// library writes tables in the order of Go's maps, so that each has one name.
func TestHeadersAreTheBytesThatTheClientLibrarySends(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	tables := []rabbit.Table{{"deep": rabbit.Table{"deeper": []any{rabbit.Table{"deepest": nil}, []any{}, rabbit.Table{}}}}}
	for name, value := range everyType() {
		if _, nested := value.(rabbit.Table); !nested {
			tables = append(tables, rabbit.Table{name: rabbittest.Carried(value)})
		}
	}
	var mu sync.Mutex
	for _, table := range tables {
		var sent []byte
		publishForged(t, v.URL, amqp.Publishing{Headers: table, Timestamp: time.Unix(1, 0)}, func(b []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, b...)
			return b
		})
		want, err := rabbit.EncodeHeaders(table)
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		if !bytes.Contains(sent, slices.Concat(want, []byte("\x00\x00\x00\x00\x00\x00\x00\x01\xce"))) {
			t.Errorf("%v: the library did not send % x", table, want)
		}
		mu.Unlock()
	}
}

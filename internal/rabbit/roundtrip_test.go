package rabbit_test

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// carried is a value as RabbitMQ can carry it: it takes no NaN and no infinity.
func carried(value any) any {
	switch v := value.(type) {
	case float32:
		if v != v || math.IsInf(float64(v), 0) {
			return float32(0.5)
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0.5
		}
	case []any:
		for i := range v {
			v[i] = carried(v[i])
		}
	case rabbit.Table:
		for name := range v {
			v[name] = carried(v[name])
		}
	}
	return value
}

// randomMessage is a message of any shape that a broker takes.
func randomMessage(r *rand.Rand, i int) rabbit.Message {
	headers := carried(randomTable(r, 4)).(rabbit.Table)
	delete(headers, "CC") // the broker routes by them
	delete(headers, "BCC")
	maybe := func(s string) string {
		if r.IntN(2) == 0 {
			return ""
		}
		return s
	}
	body := make([]byte, r.IntN(2000))
	for i := range body {
		body[i] = byte(r.Uint32())
	}
	return rabbit.Message{
		RoutingKey: "q", Headers: headers, Body: body,
		Properties: rabbit.Properties{
			ContentType: randomString(r), ContentEncoding: randomString(r), DeliveryMode: uint8(r.IntN(3)), Priority: uint8(r.Uint32()),
			CorrelationID: randomString(r), ReplyTo: randomString(r), Expiration: maybe("86400000"),
			MessageID: strconv.Itoa(i), Timestamp: int64(r.Uint64()) * int64(r.IntN(2)), Type: randomString(r), UserID: maybe("guest"), AppID: randomString(r),
		},
	}
}

// TestMessagesOfAnyShapeSurviveTheWayThroughTheConsole is the way of a dead
// letter but for the store: broker, delivery, bytes, and back to a consumer that
// shares no code with us but the client library.
func TestMessagesOfAnyShapeSurviveTheWayThroughTheConsole(t *testing.T) {
	onBoth(t, func(t *testing.T, v *rabbittest.Vhost) {
		const count = 150
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		v.Queue(t, "again", nil)
		p := newPublisher(t, v.URL)
		want := map[string]rabbit.Message{} // quorum queues of 4.0 give high priorities first
		for i := range count {
			m := randomMessage(r, i)
			want[m.Properties.MessageID] = m
			if err := p.Publish(t.Context(), m); err != nil {
				t.Fatalf("message %d, %#v: %v", i, m, err)
			}
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
	properties, err := rabbit.EncodePropertiesRaw(d.Properties)
	if err != nil {
		t.Fatal(err)
	}
	m := rabbit.Message{RoutingKey: "again", Body: d.Body}
	if m.Headers, err = rabbit.DecodeHeaders(headers); err != nil {
		t.Fatal(err)
	}
	if m.Properties, err = rabbit.DecodePropertiesRaw(properties); err != nil {
		t.Fatal(err)
	}
	return m
}

func checkArrived(t *testing.T, want rabbit.Message, d amqp.Delivery) {
	t.Helper()
	p := want.Properties
	wantProperties := []any{
		p.ContentType, p.ContentEncoding, p.DeliveryMode, p.Priority, p.CorrelationID, p.ReplyTo, p.Expiration, p.MessageID, p.Type, p.UserID, p.AppID,
	}
	got := []any{
		d.ContentType, d.ContentEncoding, d.DeliveryMode, d.Priority, d.CorrelationId, d.ReplyTo, d.Expiration, d.MessageId, d.Type, d.UserId, d.AppId,
	}
	if diff := cmp.Diff(wantProperties, got); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	if d.Timestamp.IsZero() != (p.Timestamp == 0) || (p.Timestamp != 0 && d.Timestamp.Unix() != p.Timestamp) {
		t.Errorf("timestamp %v; want %d", d.Timestamp, p.Timestamp)
	}
	if !bytes.Equal(d.Body, want.Body) || !sameOnTheWire(withoutNil(d.Headers), want.Headers) {
		t.Errorf("body % x, headers %#v; want % x, %#v", d.Body, d.Headers, want.Body, want.Headers)
	}
}

func withoutNil(t rabbit.Table) rabbit.Table {
	if t == nil {
		return rabbit.Table{}
	}
	return t
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
			tables = append(tables, rabbit.Table{name: carried(value)})
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

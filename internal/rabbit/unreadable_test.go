package rabbit_test

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// outgrown puts a message into the queue "dead" whose headers fitted a frame
// until the broker added its own.
func outgrown(t *testing.T, v *rabbittest.Vhost) {
	t.Helper()
	v.Queue(t, "dead", nil)
	v.Queue(t, "work", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead", "x-message-ttl": int32(0)})
	v.Publish(t, "", "work", amqp.Publishing{Headers: amqp.Table{"h": strings.Repeat("x", 131000)}, Body: []byte("outgrown")})
	poll.True(t, patience, "the message is dead", func() bool { return v.Depth(t, "dead") == 1 })
}

func TestHeadersThatOutgrewTheFrameAreRead(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	outgrown(t, v)
	v.Publish(t, "", "dead", amqp.Publishing{Headers: amqp.Table{"h": "next"}})
	w := nextWindow(t, dialConsumer(t, v.URL), "dead", rabbit.Limits{})
	if len(w.Deliveries()) != 2 {
		t.Fatalf("window of %d; want 2", len(w.Deliveries()))
	}
	d := w.Deliveries()[0]
	if d.Headers["h"] != strings.Repeat("x", 131000) || d.Headers["x-death"] == nil || len(d.RawHeaders) < 131072 || string(d.Body) != "outgrown" {
		t.Errorf("headers of %d bytes, x-death %v, body %q", len(d.RawHeaders), d.Headers["x-death"], d.Body)
	}
	if next := w.Deliveries()[1]; next.Headers["h"] != "next" {
		t.Errorf("headers of the next message are %v", next.Headers)
	}
	if err := w.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestHeadersOverFrameMaxArePoison(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	outgrown(t, v)
	c, err := rabbit.DialConsumerWith(t.Context(), v.URL, t.Name(), 131072)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Next(t.Context(), "dead", rabbit.Limits{})
	if !errors.Is(err, rabbit.ErrPoison) || errors.Is(err, rabbit.ErrUnavailable) || !strings.Contains(err.Error(), "frame_max of this broker is set to 131072") {
		t.Errorf("got %v; want ErrPoison, and what to do", err)
	}
}

// oddTable is headers that the client library cannot read.
type oddTable struct {
	name    string
	headers amqp.Table
	forge   func([]byte) []byte // turns the bytes on their way to the broker into those that it shall get
	why     string              // part of Delivery.Unreadable; "": we can read it

	rewritten bool // a broker may rewrite it on the way to what can be read
}

func oddTables() []oddTable {
	deep := func(n int) any {
		var v any = "bottom"
		for range n {
			v = []any{v}
		}
		return v
	}
	const value = 0x0102030405060708
	swap := func(was, is string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(was), []byte(is)) }
	}
	asIs := func(b []byte) []byte { return b }
	return []oddTable{
		{"nested 40 deep", amqp.Table{"h": deep(40)}, asIs, "", false},
		{"nested 100 deep", amqp.Table{"h": deep(100)}, asIs, "nested too deeply", false},
		{"9,000 elements", amqp.Table{"h": make([]any, 9000)}, asIs, "", false},
		{"70,000 elements", amqp.Table{"h": make([]any, 70000)}, asIs, "too many values", false},
		{"type L", amqp.Table{"h": int64(value)}, swap("l\x01\x02\x03\x04\x05\x06\x07\x08", "L\x01\x02\x03\x04\x05\x06\x07\x08"), "no AMQP type 'L'", true},
	}
}

// forger is a line to the broker that changes bytes on their way.
type forger struct {
	net.Conn
	forge func([]byte) []byte
}

func (f forger) Write(b []byte) (int, error) {
	if _, err := f.Conn.Write(f.forge(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// publishForged publishes a message whose bytes forge changes on the way.
func publishForged(t *testing.T, url string, m amqp.Publishing, forge func([]byte) []byte) {
	t.Helper()
	conn, err := amqp.DialConfig(url, amqp.Config{Dial: func(network, addr string) (net.Conn, error) {
		socket, err := (&net.Dialer{}).DialContext(t.Context(), network, addr)
		return forger{socket, forge}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.Confirm(false); err != nil {
		t.Fatal(err)
	}
	confirm, err := ch.PublishWithDeferredConfirmWithContext(t.Context(), "", "q", true, false, m)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := confirm.WaitContext(t.Context()); !ok || err != nil {
		t.Fatalf("confirmed %v, %v", ok, err)
	}
}

// TestNoHeadersBlockAQueue: each odd message is taken with its bytes, and so are
// those around it.
func TestNoHeadersBlockAQueue(t *testing.T) {
	onBoth(t, func(t *testing.T, v *rabbittest.Vhost) {
		odd := oddTables()
		for i, o := range odd {
			m := amqp.Publishing{
				ContentType: "text/plain", Headers: o.headers, Priority: 3, MessageId: o.name,
				Timestamp: time.Unix(int64(i+1), 0), AppId: "app", Body: []byte("body of " + o.name),
			}
			publishForged(t, v.URL, m, o.forge)
			fill(t, v, "q", 1)
		}
		got := takeAll(t, v.URL, "q", 2*len(odd))
		for i, o := range odd {
			checkOdd(t, o, i, got[2*i])
			if d := got[2*i+1]; d.Unreadable != "" || d.Headers != nil || string(d.Body) != "0" {
				t.Errorf("the message behind %q came as %+v", o.name, d)
			}
		}
	})
}

func checkOdd(t *testing.T, o oddTable, i int, d rabbit.Delivery) {
	t.Helper()
	properties := rabbit.Properties{ContentType: "text/plain", Priority: 3, MessageID: o.name, Timestamp: int64(i + 1), AppID: "app"}
	if diff := cmp.Diff(properties, d.Properties); diff != "" || string(d.Body) != "body of "+o.name {
		t.Errorf("%s: body %q, properties (-want +got):\n%s", o.name, d.Body, diff)
	}
	switch {
	case o.why == "" || (o.rewritten && d.Unreadable == ""):
		if d.Unreadable != "" || !rabbittest.SameOnTheWire(d.Headers, o.headers) {
			t.Errorf("%s: unreadable %q; want its headers", o.name, d.Unreadable)
		}
	case !strings.Contains(d.Unreadable, o.why) || d.Headers != nil:
		t.Errorf("%s: unreadable %q; want %q, and no headers", o.name, d.Unreadable, o.why)
	default:
		want, err := rabbit.EncodeHeaders(o.headers)
		if want = o.forge(want); err != nil || !bytes.Equal(d.RawHeaders, want) {
			t.Errorf("%s: %v, raw headers of %d bytes; want the %d published", o.name, err, len(d.RawHeaders), len(want))
		}
	}
}

// takeAll takes n deliveries off a queue.
func takeAll(t *testing.T, url, queue string, n int) []rabbit.Delivery {
	t.Helper()
	c := dialConsumer(t, url)
	var all []rabbit.Delivery
	for len(all) < n {
		w := nextWindow(t, c, queue, rabbit.Limits{})
		all = append(all, w.Deliveries()...)
		if err := w.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

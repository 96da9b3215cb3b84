package rabbit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/cutproxy"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

const patience = 20 * time.Second

// newPublisher returns a publisher that must close within reason.
func newPublisher(t *testing.T, url string) *rabbit.Publisher {
	t.Helper()
	p := rabbit.NewPublisher(url, t.Name(), nil)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// through returns the URL of the broker behind a proxy, and the proxy.
func through(t *testing.T, brokerURL string) (string, *cutproxy.Proxy) {
	t.Helper()
	u, err := url.Parse(brokerURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := cutproxy.New(t, u.Host)
	u.Host = proxy.Addr()
	return u.String(), proxy
}

func toQueue(queue, body string) rabbit.Message {
	return rabbit.Message{RoutingKey: queue, Body: []byte(body)}
}

// finite takes out the numbers that RabbitMQ does not carry.
func finite(t rabbit.Table) rabbit.Table {
	maps.DeleteFunc(t, func(_ string, value any) bool {
		text := fmt.Sprint(value)
		return text == "NaN" || text == "+Inf" || text == "-Inf"
	})
	return t
}

func TestPublishedMessageIsThereAsItWas(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Exchange(t, "ex", amqp.ExchangeDirect, nil)
	v.Queue(t, "q", nil)
	v.Bind(t, "q", "key", "ex")
	want := rabbit.Delivery{
		Exchange: "ex", RoutingKey: "key", Headers: finite(everyType()), Body: []byte{0, 255, 'x'},
		Properties: rabbit.Properties{
			ContentType: "text/plain", ContentEncoding: "gzip", DeliveryMode: 2, Priority: 9, CorrelationID: "c\xff",
			ReplyTo: "r", Expiration: "600000", MessageID: "m", Timestamp: 1700000000000, Type: "t", UserID: "guest", AppID: "a\x00",
		},
	}
	err := newPublisher(t, v.URL).Publish(t.Context(), rabbit.Message{
		Exchange: want.Exchange, RoutingKey: want.RoutingKey, Headers: want.Headers, Body: want.Body, Properties: want.Properties,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := nextWindow(t, dialConsumer(t, v.URL), "q", rabbit.Limits{})
	want.Tag = 1
	got := w.Deliveries()
	if headers, err := rabbit.DecodeHeaders(got[0].RawHeaders); err != nil || !rabbittest.SameOnTheWire(headers, want.Headers) {
		t.Errorf("raw headers are %v, %v", headers, err)
	}
	got[0].RawHeaders = nil
	if diff := cmp.Diff([]rabbit.Delivery{want}, got, onTheWire); diff != "" {
		t.Errorf("delivery (-want +got):\n%s", diff)
	}
}

func TestPublishSaysWhatBecameOfTheMessage(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	v.Queue(t, "full", amqp.Table{"x-max-length": int32(1), "x-overflow": "reject-publish"})
	v.Publish(t, "", "full", amqp.Publishing{})
	v.Exchange(t, "unbound", amqp.ExchangeDirect, nil)
	v.Exchange(t, "caught", amqp.ExchangeDirect, amqp.Table{"alternate-exchange": "unrouted"})
	v.Exchange(t, "unrouted", amqp.ExchangeFanout, nil)
	v.Queue(t, "stray", nil)
	v.Bind(t, "stray", "", "unrouted")
	p := newPublisher(t, v.URL)

	header := func(name string, value any) rabbit.Message {
		m := toQueue("q", "x")
		m.Headers = rabbit.Table{name: value}
		return m
	}
	property := func(set func(*rabbit.Properties)) rabbit.Message {
		m := toQueue("q", "x")
		set(&m.Properties)
		return m
	}
	tests := []struct {
		name    string
		message rabbit.Message
		want    error
		says    string
	}{
		{"to a queue", toQueue("q", "x"), nil, ""},
		{"priority 0 is left out", property(func(p *rabbit.Properties) { p.Priority = 0 }), nil, ""},
		{"no such queue", toQueue("nowhere", "x"), rabbit.ErrReturned, "NO_ROUTE"},
		{"no binding", rabbit.Message{Exchange: "unbound", RoutingKey: "k"}, rabbit.ErrReturned, "NO_ROUTE"},
		{"an alternate exchange takes it", rabbit.Message{Exchange: "caught", RoutingKey: "k"}, nil, ""},
		{"no such exchange", rabbit.Message{Exchange: "gone", RoutingKey: "k"}, rabbit.ErrRefused, "NOT_FOUND"},
		{"queue is full", toQueue("full", "x"), rabbit.ErrRefused, "negative confirm"},
		{"user_id of another", property(func(p *rabbit.Properties) { p.UserID = "somebody" }), rabbit.ErrRefused, "user_id"},
		{"expiration is no number", property(func(p *rabbit.Properties) { p.Expiration = "abc" }), rabbit.ErrRefused, "expiration"},
		{"reply_to without a consumer", property(func(p *rabbit.Properties) { p.ReplyTo = "amq.rabbitmq.reply-to" }), rabbit.ErrRefused, "PRECONDITION_FAILED"},
		{"CC is no array", header("CC", "q"), rabbit.ErrRefused, "CC"},
		{"BCC is no array", header("BCC", int64(1)), rabbit.ErrRefused, "BCC"},
		{"headers outgrow the frame", header("h", strings.Repeat("x", 131072)), rabbit.ErrRefused, "not sent"},
		{"headers leave no room for the next death", header("h", strings.Repeat("x", 131000)), rabbit.ErrRefused, "not sent"},
		{"large headers", header("h", strings.Repeat("x", 120000)), nil, ""},
		{"header type that AMQP lacks", header("h", uint64(1)), rabbit.ErrRefused, "uint64"},
		{"number that RabbitMQ cannot read", header("h", []any{rabbit.Table{"x": math.NaN()}}), rabbit.ErrRefused, "not sent"},
		{"number without an end", header("h", float32(math.Inf(-1))), rabbit.ErrRefused, "not sent"},
		{"header name is too long", header(strings.Repeat("n", 256), nil), rabbit.ErrRefused, "not sent"},
		{"property is too long", property(func(p *rabbit.Properties) { p.MessageID = strings.Repeat("n", 256) }), rabbit.ErrRefused, "message_id"},
		{"returned, but the exchange may delay", rabbit.Message{Exchange: "unbound", Headers: rabbit.Table{"x-delay": int32(100)}}, rabbit.ErrUnknown, "x-delayed-message"},
		{"returned, and the delay is over", rabbit.Message{Exchange: "unbound", Headers: rabbit.Table{"x-delay": int32(-100)}}, rabbit.ErrReturned, "NO_ROUTE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := p.Publish(t.Context(), tt.message)
			if !errors.Is(err, tt.want) || (err != nil && tt.want == nil) {
				t.Fatalf("got %v; want %v", err, tt.want)
			}
			if err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error says %q; want %q in it", err, tt.says)
			}
			if only := onlyOne(err); err != nil && only != 1 {
				t.Errorf("%v is %d of the errors that callers tell apart; want 1", err, only)
			}
		})
	}
}

// onlyOne counts the errors that callers tell apart in err.
func onlyOne(err error) int {
	n := 0
	for _, is := range []error{
		rabbit.ErrReturned, rabbit.ErrRefused, rabbit.ErrBlocked, rabbit.ErrUnavailable, rabbit.ErrUnknown, rabbit.ErrQueueMissing,
	} {
		if errors.Is(err, is) {
			n++
		}
	}
	return n
}

func TestBadMessagesHarmNoNeighbour(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	p := newPublisher(t, v.URL)
	var wg sync.WaitGroup
	for i := range 60 {
		m, want := toQueue("q", "good"), error(nil)
		switch i % 5 {
		case 0:
			m.Properties.UserID, want = "somebody", rabbit.ErrRefused
		case 1:
			m.Exchange, want = "gone", rabbit.ErrRefused
		case 2:
			m.RoutingKey, want = "nowhere", rabbit.ErrReturned
		}
		wg.Go(func() {
			if err := p.Publish(t.Context(), m); !errors.Is(err, want) || (err != nil && want == nil) {
				t.Errorf("message %d: got %v; want %v", i, err, want)
			}
		})
	}
	wg.Wait()
	if n := v.Depth(t, "q"); n != 24 {
		t.Errorf("%d messages arrived; want the 24 good ones", n)
	}
}

func TestLostAnswerIsUnknownAndTheMessageMayBeThere(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	at, proxy := through(t, v.URL)
	p := newPublisher(t, at)
	proxy.HoldAnswersAfter([]byte("precious"))

	got := make(chan error, 1)
	go func() { got <- p.Publish(context.Background(), toQueue("q", "precious")) }()
	poll.True(t, patience, "the message is in the queue", func() bool { return v.Depth(t, "q") == 1 })
	proxy.Cut()

	if err := <-got; !errors.Is(err, rabbit.ErrUnknown) {
		t.Fatalf("got %v; want ErrUnknown", err)
	}
	proxy.HoldAnswers(false)
	if err := p.Publish(t.Context(), toQueue("q", "next")); err != nil {
		t.Errorf("after the connection was lost: %v; want a new one", err)
	}
}

func TestNoAnswerInTimeIsUnknownAndHarmsNoNeighbour(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	at, proxy := through(t, v.URL)
	p := newPublisher(t, at)
	p.SetConfirmTimeout(200 * time.Millisecond)
	proxy.HoldAnswersAfter([]byte("precious"))

	err := p.Publish(t.Context(), toQueue("q", "precious"))
	if !errors.Is(err, rabbit.ErrUnknown) || !strings.Contains(err.Error(), "no answer within") {
		t.Fatalf("got %v; want ErrUnknown for want of an answer", err)
	}
	proxy.HoldAnswers(false)
	if err := p.Publish(t.Context(), toQueue("q", "next")); err != nil {
		t.Errorf("the next message: %v", err)
	}
	if n := v.Depth(t, "q"); n != 2 {
		t.Errorf("depth %d; want both messages", n)
	}
}

func TestEndOfContext(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)

	t.Run("before sending sends nothing", func(t *testing.T) {
		t.Parallel()
		at, proxy := through(t, v.URL)
		p := newPublisher(t, at)
		if err := p.Publish(t.Context(), toQueue("q", "first")); err != nil {
			t.Fatal(err)
		}
		proxy.Hold(true)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		err := p.Publish(ctx, toQueue("q", "late"))
		if !errors.Is(err, rabbit.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v; want ErrUnavailable because of the deadline", err)
		}
		proxy.Hold(false)
		if err := p.Publish(t.Context(), toQueue("q", "second")); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil { // all that is under way is over
			t.Fatal(err)
		}
		for d, ok := v.Get(t, "q"); ok; d, ok = v.Get(t, "q") {
			if string(d.Body) == "late" {
				t.Error("the message that was given up was sent")
			}
		}
	})
	t.Run("after sending is unknown", func(t *testing.T) {
		t.Parallel()
		at, proxy := through(t, v.URL)
		sent := proxy.HoldAnswersAfter([]byte("precious"))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-sent
			cancel()
		}()
		if err := newPublisher(t, at).Publish(ctx, toQueue("q", "precious")); !errors.Is(err, rabbit.ErrUnknown) {
			t.Fatalf("got %v; want ErrUnknown", err)
		}
	})
}

// connection.blocked as RabbitMQ sends it: a method frame on channel 0 of class
// 10, method 60, with a reason; connection.unblocked is method 61.
var (
	blockedFrame   = []byte("\x01\x00\x00\x00\x00\x00\x0e\x00\x0a\x00\x3c\x09low on it\xce")
	unblockedFrame = []byte("\x01\x00\x00\x00\x00\x00\x04\x00\x0a\x00\x3d\xce")
)

func TestNothingIsSentWhileTheBrokerBlocksPublishers(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	at, proxy := through(t, v.URL)
	p := newPublisher(t, at)
	publish := func() error { return p.Publish(t.Context(), toQueue("q", "x")) }
	if err := publish(); err != nil {
		t.Fatal(err)
	}

	// The word of the broker may cross with one more message.
	proxy.Inject(blockedFrame)
	poll.True(t, patience, "publishing is blocked", func() bool { return errors.Is(publish(), rabbit.ErrBlocked) })
	before := v.Depth(t, "q")
	err := publish()
	if !errors.Is(err, rabbit.ErrBlocked) || !strings.Contains(err.Error(), "low on it") {
		t.Fatalf("got %v; want ErrBlocked with the broker's reason", err)
	}
	if n := v.Depth(t, "q"); n != before {
		t.Errorf("depth went from %d to %d while blocked", before, n)
	}
	proxy.Inject(unblockedFrame)
	poll.Until(t, patience, publish)
}

func TestBlockadeStopsAMessageThatIsBeingPrepared(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	at, proxy := through(t, v.URL)
	p := newPublisher(t, at)
	if err := p.Publish(t.Context(), toQueue("q", "first")); err != nil {
		t.Fatal(err)
	}
	proxy.Hold(true)
	got := make(chan error, 1)
	go func() { got <- p.Publish(context.Background(), toQueue("q", "second")) }()
	proxy.Inject(blockedFrame)
	if err := <-got; !errors.Is(err, rabbit.ErrBlocked) {
		t.Fatalf("got %v; want ErrBlocked", err)
	}
	proxy.Hold(false)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if n := v.Depth(t, "q"); n != 1 {
		t.Errorf("depth %d; want the first message alone", n)
	}
}

func TestUnreachableBrokerIsUnavailableAndComesBack(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	at, proxy := through(t, v.URL)
	p := newPublisher(t, at)
	proxy.Refuse(true)
	for range 2 {
		err := p.Publish(t.Context(), toQueue("q", "x"))
		if !errors.Is(err, rabbit.ErrUnavailable) || onlyOne(err) != 1 {
			t.Fatalf("got %v; want ErrUnavailable", err)
		}
	}
	proxy.Refuse(false)
	if err := p.Publish(t.Context(), toQueue("q", "x")); err != nil {
		t.Fatalf("broker is back: %v", err)
	}
	if n := v.Depth(t, "q"); n != 1 {
		t.Errorf("depth %d; want 1", n)
	}
}

func TestConnectErrorsKeepThePasswordToThemselves(t *testing.T) {
	t.Parallel()
	for _, at := range []string{
		"amqp://user:hunter2@127.0.0.1:1/",
		"amqp://user:hunter2@127.0.0.1:port/",
		"amqp://user:hunter2@local host/",
		"amqp://user:hunter2%@127.0.0.1:1/",
		"http://user:hunter2@127.0.0.1:1/?password=hunter2",
	} {
		err := newPublisher(t, at).Publish(t.Context(), toQueue("q", "x"))
		if !errors.Is(err, rabbit.ErrUnavailable) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v; want ErrUnavailable without the password", err)
		}
	}
}

func TestWrongPasswordIsUnavailable(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(rabbittest.New(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("nobody", "hunter2")
	err = newPublisher(t, u.String()).Publish(t.Context(), toQueue("q", "x"))
	if !errors.Is(err, rabbit.ErrUnavailable) || !errors.Is(err, rabbit.ErrAccessRefused) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v; want the broker's refusal without the password", err)
	}
}

func TestClosedPublisherSendsNothing(t *testing.T) {
	t.Parallel()
	p := newPublisher(t, rabbittest.New(t).URL)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(t.Context(), toQueue("q", "x")); !errors.Is(err, rabbit.ErrUnavailable) {
		t.Errorf("got %v; want ErrUnavailable", err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	at, proxy := through(t, v.URL)
	p := newPublisher(t, at)
	sent := proxy.HoldAnswersAfter([]byte("precious"))
	got := make(chan error, 1)
	go func() { got <- p.Publish(context.Background(), toQueue("q", "precious")) }()
	<-sent
	_ = p.Close() // the broker's goodbye is held back too
	if err := <-got; !errors.Is(err, rabbit.ErrUnknown) {
		t.Errorf("got %v; want ErrUnknown", err)
	}
}

func TestReplayExchangeLeadsToOneQueueWithTheOldKey(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "orders", nil)
	v.Queue(t, "other", nil)
	v.Exchange(t, "ex", amqp.ExchangeTopic, nil)
	v.Bind(t, "orders", "order.#", "ex")
	v.Bind(t, "other", "#", "ex")
	p := newPublisher(t, v.URL)
	var exchange string
	for range 2 { // again and again is fine
		var err error
		if exchange, err = p.BindReplayExchange(t.Context(), "orders", "order.created"); err != nil {
			t.Fatal(err)
		}
	}
	if exchange != "dlo.replay.orders" {
		t.Errorf("exchange %q; want dlo.replay.orders", exchange)
	}
	if err := p.Publish(t.Context(), rabbit.Message{Exchange: exchange, RoutingKey: "order.created"}); err != nil {
		t.Fatal(err)
	}
	d, ok := v.Get(t, "orders")
	if !ok || d.RoutingKey != "order.created" {
		t.Errorf("got %v with key %q; want the message with its old key", ok, d.RoutingKey)
	}
	if n := v.Depth(t, "other"); n != 0 {
		t.Errorf("%d copies went elsewhere", n)
	}
}

func TestReplayExchangeNeedsItsQueueAndItsName(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "taken", nil)
	v.Exchange(t, "dlo.replay.taken", amqp.ExchangeFanout, nil)
	p := newPublisher(t, v.URL)
	for queue, want := range map[string]error{
		"gone":                   rabbit.ErrQueueMissing,
		"taken":                  rabbit.ErrRefused,
		strings.Repeat("q", 250): rabbit.ErrRefused,
	} {
		_, err := p.BindReplayExchange(t.Context(), queue, "k")
		if !errors.Is(err, want) || onlyOne(err) != 1 {
			t.Errorf("queue %.9s: got %v; want %v", queue, err, want)
		}
	}
}

func BenchmarkPublish(b *testing.B) {
	v := rabbittest.New(b)
	v.Queue(b, "q", amqp.Table{"x-max-length": int32(10)})
	p := rabbit.NewPublisher(v.URL, b.Name(), nil)
	defer p.Close()
	for b.Loop() {
		if err := p.Publish(b.Context(), toQueue("q", "body")); err != nil {
			b.Fatal(err)
		}
	}
}

// Package rabbittest lends tests a real RabbitMQ: each test a virtual host of
// its own, with helpers for what tests do to a broker from outside.
package rabbittest

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/services"
)

// requestTimeout bounds each call of the management API.
const requestTimeout = 30 * time.Second

// helperName marks the connection of the helpers below, so that
// CloseConnections can leave it alone.
const helperName = "rabbittest"

// Vhost is a virtual host that exists as long as its test. Its methods fail
// the test they are given rather than return errors.
type Vhost struct {
	Name          string
	URL           string // amqp://…/<Name>
	ManagementURL string // http://user:password@host:port, without the vhost

	mu   sync.Mutex
	conn *amqp.Connection
}

// New makes a virtual host and deletes it when the test ends.
func New(tb testing.TB) *Vhost {
	tb.Helper()
	broker, err := url.Parse(services.URL(tb, "AMQP"))
	if err != nil {
		tb.Fatal("rabbittest: DLO_TEST_AMQP_URL is not a URL")
	}
	name := "test-" + strings.ToLower(rand.Text())
	broker.Path = "/" + name
	v := &Vhost{
		Name:          name,
		URL:           broker.String(),
		ManagementURL: strings.TrimSuffix(services.URL(tb, "MANAGEMENT"), "/"),
	}
	v.Manage(tb, http.MethodPut, "/api/vhosts/"+name, "{}")
	tb.Cleanup(func() { v.Manage(tb, http.MethodDelete, "/api/vhosts/"+name, "") })
	permissions := "/api/permissions/" + name + "/" + url.PathEscape(broker.User.Username())
	v.Manage(tb, http.MethodPut, permissions, `{"configure":".*","write":".*","read":".*"}`)
	tb.Cleanup(v.close)
	return v
}

// Manage calls the broker's management API and returns the body of its answer.
func (v *Vhost) Manage(tb testing.TB, method, path, body string) []byte {
	tb.Helper()
	status, answer := v.request(tb, method, path, body)
	if status >= http.StatusBadRequest {
		tb.Fatalf("rabbittest: %s %s: %d: %s", method, path, status, answer)
	}
	return answer
}

// request is Manage with an answer of any status.
func (v *Vhost) request(tb testing.TB, method, path, body string) (status int, answer []byte) {
	tb.Helper()
	// Cleanups call this too, when the test's own context is already cancelled.
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, v.ManagementURL+path, strings.NewReader(body))
	if err != nil {
		tb.Fatalf("rabbittest: %s %s: %v", method, path, err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatalf("rabbittest: %v", err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		tb.Fatalf("rabbittest: %s %s: %v", method, path, err)
	}
	return resp.StatusCode, answer
}

// Queue declares a durable queue.
func (v *Vhost) Queue(tb testing.TB, name string, args amqp.Table) {
	tb.Helper()
	v.do(tb, "declare queue "+name, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(name, true, false, false, false, args)
		return err
	})
}

// Exchange declares a durable exchange.
func (v *Vhost) Exchange(tb testing.TB, name, kind string, args amqp.Table) {
	tb.Helper()
	v.do(tb, "declare exchange "+name, func(ch *amqp.Channel) error {
		return ch.ExchangeDeclare(name, kind, true, false, false, false, args)
	})
}

// Bind routes what comes to exchange with the given key into queue.
func (v *Vhost) Bind(tb testing.TB, queue, key, exchange string) {
	tb.Helper()
	v.do(tb, "bind "+queue, func(ch *amqp.Channel) error {
		return ch.QueueBind(queue, key, exchange, false, nil)
	})
}

// Publish puts a message on the broker and returns once it is confirmed. A
// message that no queue takes is lost without an error, as in real life.
func (v *Vhost) Publish(tb testing.TB, exchange, key string, m amqp.Publishing) {
	tb.Helper()
	v.do(tb, "publish to "+exchange+" "+key, func(ch *amqp.Channel) error {
		if err := ch.Confirm(false); err != nil {
			return err
		}
		confirm, err := ch.PublishWithDeferredConfirmWithContext(tb.Context(), exchange, key, false, false, m)
		if err != nil {
			return err
		}
		ok, err := confirm.WaitContext(tb.Context())
		if err == nil && !ok {
			return fmt.Errorf("refused by the broker")
		}
		return err
	})
}

// Get takes the first message off a queue; the bool says whether there was one.
func (v *Vhost) Get(tb testing.TB, queue string) (amqp.Delivery, bool) {
	tb.Helper()
	var got amqp.Delivery
	var ok bool
	v.do(tb, "get from "+queue, func(ch *amqp.Channel) (err error) {
		got, ok, err = ch.Get(queue, true)
		return err
	})
	return got, ok
}

// Depth returns how many messages a queue has ready. Those delivered and not
// yet acked are not among them.
func (v *Vhost) Depth(tb testing.TB, queue string) int {
	tb.Helper()
	var q amqp.Queue
	v.do(tb, "read depth of "+queue, func(ch *amqp.Channel) (err error) {
		q, err = ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		return err
	})
	return q.Messages
}

// do runs one step on a channel of its own: the broker closes a channel on any
// error, and the next helper must not suffer from that.
func (v *Vhost) do(tb testing.TB, what string, step func(*amqp.Channel) error) {
	tb.Helper()
	ch, err := v.channel()
	if err != nil {
		tb.Fatalf("rabbittest: %s: %v", what, err)
	}
	defer ch.Close()
	if err := step(ch); err != nil {
		tb.Fatalf("rabbittest: %s: %v", what, err)
	}
}

// channel opens a channel, on a new connection if the last one is gone.
func (v *Vhost) channel() (*amqp.Channel, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.conn == nil || v.conn.IsClosed() {
		properties := amqp.NewConnectionProperties()
		properties.SetClientConnectionName(helperName)
		conn, err := amqp.DialConfig(v.URL, amqp.Config{Properties: properties})
		if err != nil {
			return nil, err
		}
		v.conn = conn
	}
	return v.conn.Channel()
}

func (v *Vhost) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.conn != nil {
		v.conn.Close()
	}
}

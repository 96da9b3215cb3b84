package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/cutproxy"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// line is a service behind a proxy that the test can break.
type line struct {
	*cutproxy.Proxy
	url string
}

// through returns the service of rawURL by way of a proxy.
func through(t *testing.T, rawURL string) line {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	p := cutproxy.New(t, net.JoinHostPort(u.Hostname(), u.Port()))
	u.Host = p.Addr()
	return line{p, u.String()}
}

func (l line) down() { l.Refuse(true); l.Cut() }
func (l line) up()   { l.Refuse(false) }

// plain is a console over one terminal queue, without keys and guards.
func plain(database, broker string) string {
	return fmt.Sprintf(`
database: {url: %q}
brokers: [{name: b, url: %q}]
sources: [{name: s, broker: b, queue: terminal, original_queue: work}]
`, database, broker)
}

type sourceList struct {
	Items []struct {
		Name  string `json:"name"`
		State string `json:"state"`
		Why   string `json:"why"`
	} `json:"items"`
}

func (c *console) awaitSource(t *testing.T, state string) {
	t.Helper()
	poll.Until(t, soon, func() error {
		var list sourceList
		c.get(t, "/sources", &list)
		if got := list.Items[0]; got.State != state {
			return fmt.Errorf("source is %s (%s), want %s", got.State, got.Why, state)
		}
		return nil
	})
}

func (c *console) awaitCount(t *testing.T, want int) {
	t.Helper()
	poll.Until(t, soon, func() error {
		if got := len(c.all(t, "")); got != want {
			return fmt.Errorf("%d messages are stored, want %d", got, want)
		}
		return nil
	})
}

// publish puts n messages with bodies of their own into the terminal queue.
func publish(t *testing.T, v *rabbittest.Vhost, from, n int) {
	t.Helper()
	for i := range n {
		v.Publish(t, "", "terminal", amqp.Publishing{Body: fmt.Appendf(nil, "message %d", from+i), DeliveryMode: amqp.Persistent})
	}
}

// A console whose services are all down starts, says what it waits for, and
// works once they are there.
func TestServicesAreDownAtStart(t *testing.T) {
	t.Parallel()
	v, store := rabbittest.New(t), pgtest.Empty(t)
	v.Queue(t, "terminal", nil)
	v.Queue(t, "work", nil)
	publish(t, v, 0, 3)
	database, broker := through(t, pgtest.URL(store)), through(t, v.URL)
	database.down()
	broker.down()

	c := startConsole(t, plain(database.url, broker.url))
	if status, body := c.ask(t, http.MethodGet, c.metrics+"/healthz", nil); status != http.StatusOK {
		t.Errorf("/healthz: %d %s, want 200: it is alive", status, body)
	}
	if status, body := c.ask(t, http.MethodGet, c.metrics+"/readyz", nil); status != http.StatusServiceUnavailable || !bytes.Contains(body, []byte("postgres")) {
		t.Errorf("/readyz: %d %s, want 503 that names postgres", status, body)
	}
	if status, body := c.ask(t, http.MethodGet, c.url+"/", nil); status != http.StatusServiceUnavailable || !bytes.Contains(body, []byte("Nothing is lost")) {
		t.Errorf("the first page: %d %s, want 503 with a clear sentence", status, body)
	}

	database.up() // and not migrated yet
	poll.Until(t, soon, func() error {
		if _, body := c.ask(t, http.MethodGet, c.metrics+"/readyz", nil); !bytes.Contains(body, []byte("console migrate")) {
			return fmt.Errorf("/readyz does not say to migrate: %s", body)
		}
		return nil
	})
	mustRun(t, []string{"DLO_DATABASE_URL=" + pgtest.URL(store)}, "console", "migrate")
	c.awaitSource(t, "down")
	broker.up()
	c.awaitReady(t)
	c.awaitCount(t, 3)
	c.stop(t)
}

// Postgres and the broker go away and come back while messages arrive: all are
// stored, none twice, and the pages say what is wrong meanwhile.
func TestServicesGoAwayLater(t *testing.T) {
	t.Parallel()
	v, store := rabbittest.New(t), pgtest.New(t)
	v.Queue(t, "terminal", nil)
	v.Queue(t, "work", nil)
	database, broker := through(t, pgtest.URL(store)), through(t, v.URL)
	c := startConsole(t, plain(database.url, broker.url))
	c.awaitReady(t)
	publish(t, v, 0, 20)
	c.awaitCount(t, 20)

	broker.down()
	c.awaitSource(t, "down")
	publish(t, v, 20, 20)
	broker.up()
	c.awaitSource(t, "up")
	c.awaitCount(t, 40)

	database.down()
	publish(t, v, 40, 20)
	poll.Until(t, soon, func() error {
		status, body := c.ask(t, http.MethodGet, c.url+"/api/v1/messages", nil)
		if status != http.StatusServiceUnavailable {
			return fmt.Errorf("messages without a database: %d %s, want 503", status, body)
		}
		return nil
	})
	database.up()
	c.awaitCount(t, 60)
	bodies := map[string]bool{}
	for _, m := range c.all(t, "") {
		bodies[m.BodySHA256] = true
	}
	if len(bodies) != 60 {
		t.Errorf("%d different bodies are stored, want 60", len(bodies))
	}
	c.stop(t)
}

// A terminal queue that does not exist is said to be missing, and drained once
// it is declared.
func TestTerminalQueueDoesNotExist(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "work", nil)
	c := startConsole(t, plain(pgtest.URL(pgtest.New(t)), v.URL))
	c.awaitReady(t)
	c.awaitSource(t, "missing")
	v.Queue(t, "terminal", nil)
	publish(t, v, 0, 1)
	c.awaitSource(t, "up")
	c.awaitCount(t, 1)
	c.stop(t)
}

// Odd bodies are stored byte for byte, shown without an error, and replayed
// byte for byte.
func TestOddBodies(t *testing.T) {
	t.Parallel()
	bodies := map[string][]byte{
		"empty": {}, "one byte": {0xFF}, "10 MB": bytes.Repeat([]byte("0123456789"), 1<<20),
		"escaped NUL": []byte(`{"a":"\u0000","b":1e400,"b":2}`), "NUL": {'{', 0, '}'},
	}
	v := rabbittest.New(t)
	v.Queue(t, "terminal", nil)
	v.Queue(t, "work", nil)
	for name, body := range bodies {
		v.Publish(t, "", "terminal", amqp.Publishing{Body: body, MessageId: name, ContentType: "application/json"})
	}
	config := strings.Replace(plain(pgtest.URL(pgtest.New(t)), v.URL), "original_queue: work", "original_queue: work, business_key: [{property: message_id}]", 1)
	c := startConsole(t, config)
	c.awaitReady(t)
	c.awaitCount(t, len(bodies))
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) { checkOddBody(t, c, v, name, body) })
	}
	c.stop(t)
}

func checkOddBody(t *testing.T, c *console, v *rabbittest.Vhost, name string, body []byte) {
	m := c.dead(t, name)
	if m == nil {
		t.Fatal("it has no dead letter")
	}
	if status, got := c.ask(t, http.MethodGet, c.url+"/api/v1/messages/"+m.ID+"/body", nil); status != http.StatusOK || !bytes.Equal(got, body) {
		t.Errorf("stored body: %d, %d bytes; want 200 and the %d bytes as they came", status, len(got), len(body))
	}
	if status, page := c.ask(t, http.MethodGet, c.url+"/messages/"+m.ID, nil); status != http.StatusOK {
		t.Errorf("its page: %d %.200s", status, page)
	}
	var answer replayAnswer
	c.post(t, "/messages/"+m.ID+"/replay", map[string]any{"reason": "round trip"}, http.StatusOK, &answer)
	back, ok := v.Get(t, "work")
	if !ok || !bytes.Equal(back.Body, body) {
		t.Errorf("the consumer got %d bytes (%v), want the %d bytes as they came", len(back.Body), ok, len(body))
	}
	if back.Headers["dlo-message-id"] != m.ID || back.MessageId != name {
		t.Errorf("replayed with headers %v and message id %q", back.Headers, back.MessageId)
	}
}

// Settings that cannot work end the program with a sentence for each.
func TestBrokenConfigurationIsExplained(t *testing.T) {
	t.Parallel()
	code, out := run(t, []string{"DLO_BROKERS_X_URL=amqp://u:s3cret@h"}, "console", "serve", "--config", "testdata/broken.yaml")
	if code == 0 {
		t.Error("it started all the same")
	}
	for _, want := range []string{"line 3", `unknown key "quueue"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the answer lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "goroutine") || strings.Contains(out, "s3cret") {
		t.Errorf("the answer holds a stack trace or a secret:\n%s", out)
	}
}

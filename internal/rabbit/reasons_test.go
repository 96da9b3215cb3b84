package rabbit_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// connectAs returns v's URL with another user and password, and makes the user.
func connectAs(t *testing.T, v *rabbittest.Vhost, permissions string) string {
	t.Helper()
	user := v.Name + "-user"
	v.Manage(t, "PUT", "/api/users/"+user, `{"password":"s3cret","tags":""}`)
	t.Cleanup(func() { v.Manage(t, "DELETE", "/api/users/"+user, "") })
	if permissions != "" {
		permit(t, v, permissions)
	}
	u, err := url.Parse(v.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, "s3cret")
	return u.String()
}

func permit(t *testing.T, v *rabbittest.Vhost, permissions string) {
	t.Helper()
	v.Manage(t, "PUT", "/api/permissions/"+v.Name+"/"+v.Name+"-user", permissions)
}

// reason fails the test unless err is want, and is unavailability too.
func reason(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || !errors.Is(err, rabbit.ErrUnavailable) {
		t.Errorf("got %v; want %v, and ErrUnavailable", err, want)
	}
}

func TestConnectionsAreRefusedForAReason(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	at := connectAs(t, v, "")
	dial := func(url string) error {
		c, err := rabbit.DialConsumer(t.Context(), url, t.Name())
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	reason(t, dial(at), rabbit.ErrAccessRefused) // to the virtual host
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	u.Path += "-missing"
	reason(t, dial(u.String()), rabbit.ErrVhostMissing)
	u.User = url.UserPassword(u.User.Username(), "wrong")
	reason(t, dial(u.String()), rabbit.ErrAccessRefused)
	permit(t, v, `{"configure":"","write":"","read":".*"}`)
	v.Manage(t, "PUT", "/api/vhost-limits/"+v.Name+"/max-connections", `{"value":0}`)
	reason(t, dial(at), rabbit.ErrLimit)
	reason(t, dial("amqp://127.0.0.1:1/"), rabbit.ErrUnreachable)
}

func TestPermissionIsMissing(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	fill(t, v, "q", 1)
	at := connectAs(t, v, `{"configure":".*","write":".*","read":""}`)
	c := dialConsumer(t, at)
	_, err := c.Next(t.Context(), "q", rabbit.Limits{})
	reason(t, err, rabbit.ErrAccessRefused)
	permit(t, v, `{"configure":"","write":"","read":".*"}`)
	if w := nextWindow(t, dialConsumer(t, at), "q", rabbit.Limits{}); len(w.Deliveries()) != 1 {
		t.Error("not drained with permission to read alone")
	}
}

// channelOf opens a channel that another client has.
func channelOf(t *testing.T, url string) *amqp.Channel {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestQueueOfAnotherConnectionIsLocked(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	if _, err := channelOf(t, v.URL).QueueDeclare("q", false, false, true, false, nil); err != nil {
		t.Fatal(err)
	}
	_, err := dialConsumer(t, v.URL).Next(t.Context(), "q", rabbit.Limits{})
	reason(t, err, rabbit.ErrLocked)
}

// TestQueueWithAnExclusiveConsumerIsLocked is about classic queues: quorum
// queues let the second consumer wait.
func TestQueueWithAnExclusiveConsumerIsLocked(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	other := channelOf(t, v.URL)
	if _, err := other.Consume("q", "", false, true, false, false, nil); err != nil {
		t.Fatal(err)
	}
	c := dialConsumer(t, v.URL)
	_, err := c.Next(t.Context(), "q", rabbit.Limits{})
	reason(t, err, rabbit.ErrLocked)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	fill(t, v, "q", 1)
	poll.Until(t, patience, func() error {
		w, err := c.Next(t.Context(), "q", rabbit.Limits{})
		if err == nil {
			err = w.Ack(t.Context())
		}
		return err
	})
}

func TestSecondOfASingleActiveConsumerWaits(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"classic", "quorum"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			v := rabbittest.New(t)
			v.Queue(t, "q", amqp.Table{"x-queue-type": kind, "x-single-active-consumer": true})
			first := channelOf(t, v.URL)
			if _, err := first.Consume("q", "", false, false, false, false, nil); err != nil {
				t.Fatal(err)
			}
			c := dialConsumer(t, v.URL)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if _, err := c.Next(ctx, "q", rabbit.Limits{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v; want a wait", err)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			fill(t, v, "q", 1)
			if w := nextWindow(t, c, "q", rabbit.Limits{}); len(w.Deliveries()) != 1 {
				t.Error("nothing came when the first was gone")
			}
		})
	}
}

func TestStreamsAreNotDrained(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", amqp.Table{"x-queue-type": "stream"})
	c := dialConsumer(t, v.URL)
	poll.Until(t, patience, func() error {
		v.Publish(t, "", "q", amqp.Publishing{Body: []byte("x")})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Next(ctx, "q", rabbit.Limits{})
		if errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		reason(t, err, rabbit.ErrWrongType)
		return nil
	})
}

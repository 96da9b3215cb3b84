package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/errgroup"

	"github.com/seed-d2bf649b/dead-letter-office/bench/own"
)

const (
	queue = "q.pay.dlx.terminal"
	// settling is how long the broker is left alone after a queue was filled.
	settling = 2 * time.Second
	// emptyWithin bounds the wait for a queue's statistics.
	emptyWithin = 30 * time.Second
)

// broker is a virtual host of our own.
type broker struct {
	vhost, url, management string
	version                string
	pid                    int // of the broker, if it runs on this machine
	conn                   *amqp.Connection
}

// openBroker makes the virtual host, and the queue in it: classic and durable.
func openBroker(ctx context.Context, address, management string) (*broker, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the broker's address is not a URL")
	}
	b := &broker{vhost: fmt.Sprintf("bench-%d", time.Now().UnixNano()), management: management}
	u.Path = "/" + b.vhost
	b.url = u.String()
	var overview struct {
		Version string `json:"rabbitmq_version"`
	}
	if err := b.manage(ctx, http.MethodGet, "/api/overview", "", &overview); err != nil {
		return nil, err
	}
	b.version = overview.Version
	if b.pid, err = b.process(ctx); err != nil {
		return nil, err
	}
	if err := b.manage(ctx, http.MethodPut, "/api/vhosts/"+b.vhost, "{}", nil); err != nil {
		return nil, err
	}
	path := "/api/permissions/" + b.vhost + "/" + url.PathEscape(u.User.Username())
	if err := b.manage(ctx, http.MethodPut, path, `{"configure":".*","write":".*","read":".*"}`, nil); err != nil {
		return b, err
	}
	if b.conn, err = amqp.Dial(b.url); err != nil {
		return b, err
	}
	return b, b.channel(func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(queue, true, false, false, false, nil)
		return err
	})
}

// process is the broker's process number if that is one of this machine's.
func (b *broker) process(ctx context.Context) (int, error) {
	var nodes []struct {
		PID string `json:"os_pid"`
	}
	if err := b.manage(ctx, http.MethodGet, "/api/nodes", "", &nodes); err != nil || len(nodes) != 1 {
		return 0, err
	}
	name, err := os.ReadFile("/proc/" + nodes[0].PID + "/comm")
	if err != nil || !strings.HasPrefix(string(name), "beam") {
		return 0, nil
	}
	return strconv.Atoi(nodes[0].PID)
}

// close deletes the virtual host with all that is in it.
func (b *broker) close() error {
	if b.conn != nil {
		_ = b.conn.Close() // it may be gone already
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return b.manage(ctx, http.MethodDelete, "/api/vhosts/"+b.vhost, "", nil)
}

// channel runs one step on a channel of its own.
func (b *broker) channel(step func(*amqp.Channel) error) error {
	ch, err := b.conn.Channel()
	if err != nil {
		return err
	}
	defer ch.Close()
	return step(ch)
}

// manage calls the management API and reads the answer into v, if v is not nil.
func (b *broker) manage(ctx context.Context, method, path, body string, v any) error {
	u, err := url.Parse(b.management)
	if err != nil {
		return fmt.Errorf("the management address is not a URL")
	}
	address := u.Scheme + "://" + u.Host + path
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	password, _ := u.User.Password()
	req.SetBasicAuth(u.User.Username(), password)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(answer, v)
}

// fill empties the queue, publishes n messages of the given size into it and
// returns once the broker has confirmed them all and has come to rest.
func (b *broker) fill(ctx context.Context, n, size int) error {
	err := b.channel(func(ch *amqp.Channel) error {
		_, err := ch.QueuePurge(queue, false)
		return err
	})
	if err != nil {
		return err
	}
	group, publishing := errgroup.WithContext(ctx)
	const publishers = 2
	for p := range publishers {
		group.Go(func() error { return b.publish(publishing, p*n/publishers, (p+1)*n/publishers, size) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("fill the queue: %w", err)
	}
	ready, err := b.ready()
	if err == nil && ready != n {
		err = fmt.Errorf("the queue holds %d messages, and %d were published", ready, n)
	}
	if err != nil {
		return err
	}
	return own.Rest(ctx, settling)
}

// publish sends the messages from first to before end on a connection of its
// own, some megabytes ahead of the confirms.
func (b *broker) publish(ctx context.Context, first, end, size int) error {
	conn, err := amqp.Dial(b.url)
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	if err := ch.Confirm(false); err != nil {
		return err
	}
	ahead := max(2, min(1000, 64<<20/size))
	var open []*amqp.DeferredConfirmation
	for n := first; n < end; n++ {
		c, err := ch.PublishWithDeferredConfirmWithContext(ctx, "", queue, false, false, message(n, size, time.Now()))
		if err != nil {
			return err
		}
		if open = append(open, c); len(open) == ahead {
			if err := confirmed(ctx, open[:ahead/2]); err != nil {
				return err
			}
			open = append(open[:0], open[ahead/2:]...)
		}
	}
	return confirmed(ctx, open)
}

func confirmed(ctx context.Context, open []*amqp.DeferredConfirmation) error {
	for _, c := range open {
		ok, err := c.WaitContext(ctx)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("the broker refused a message")
		}
	}
	return nil
}

// ready is how many messages the queue has to give; those that were delivered
// and not acked are not among them.
func (b *broker) ready() (n int, err error) {
	err = b.channel(func(ch *amqp.Channel) error {
		q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		n = q.Messages
		return err
	})
	return n, err
}

// awaitEmpty returns once the broker's statistics say that nothing is left in
// the queue, unacked messages included. They lag behind, so that no clock may
// run meanwhile.
func (b *broker) awaitEmpty(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, emptyWithin, fmt.Errorf("messages are left in the queue"))
	defer cancel()
	path := "/api/queues/" + b.vhost + "/" + queue
	return until(ctx, 250*time.Millisecond, func() (bool, error) {
		var q struct{ Messages *int }
		err := b.manage(ctx, http.MethodGet, path, "", &q)
		return q.Messages != nil && *q.Messages == 0, err
	})
}

// until asks again and again until the answer is yes.
func until(ctx context.Context, pause time.Duration, ask func() (bool, error)) error {
	for {
		done, err := ask()
		if done || err != nil {
			return err
		}
		if err := own.Rest(ctx, pause); err != nil {
			return err
		}
	}
}

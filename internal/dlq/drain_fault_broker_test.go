package dlq

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// other is a second source on the same broker and in the same store, which a
// fault of the first must not reach.
var other = Source{Name: "refund", Broker: "b", Queue: "q.refund.terminal"}

// bystander runs the drain of other, and returns what proves that it goes on: a
// message of its own is stored.
func bystander(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) (goesOn func()) {
	t.Helper()
	v.Queue(t, other.Queue, nil)
	d, _ := running(t, DrainOptions{Source: other, URL: v.URL, Pool: pool})
	untilState(t, d, SourceUp)
	n := 0
	return func() {
		t.Helper()
		n++
		send(t, v, rabbit.Message{RoutingKey: other.Queue, Body: fmt.Appendf(nil, "other %d", n)})
		untilStoredOf(t, pool, other, n)
		untilState(t, d, SourceUp)
	}
}

func untilStoredOf(t *testing.T, pool *pgxpool.Pool, s Source, want int) {
	t.Helper()
	poll.Until(t, patience, func() error {
		n, err := numberOrError(t.Context(), pool, "SELECT count(*) FROM dead_letters WHERE source = $1 AND NOT possible_copy", s.Name)
		if err == nil && n != want {
			err = fmt.Errorf("%d messages of %s are stored, want %d", n, s.Name, want)
		}
		return err
	})
}

// untilSaid waits for a state with a sentence that holds all words.
func untilSaid(t *testing.T, d *Drain, want SourceState, words ...string) {
	t.Helper()
	poll.Until(t, patience, func() error {
		s := d.Status()
		for _, w := range words {
			if s.State != want || !strings.Contains(s.Why, w) {
				return fmt.Errorf("state %s (%s), want %s that says %q", s.State, s.Why, want, w)
			}
		}
		return nil
	})
}

// A queue that is deleted while it is drained is missing, and drained again once
// it is there.
func TestQueueDeletedWhileItIsDrained(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		goesOn := bystander(t, pool, v)
		d, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})
		publish(t, v, "a")
		untilStoredOf(t, pool, paySource, 1)
		v.Manage(t, http.MethodDelete, "/api/queues/"+v.Name+"/"+paySource.Queue, "")
		untilSaid(t, d, SourceMissing, paySource.Queue, "Nothing is drained until it is declared")
		goesOn()
		v.Queue(t, paySource.Queue, nil)
		publish(t, v, "b")
		untilStoredOf(t, pool, paySource, 2)
		untilState(t, d, SourceUp)
	})
}

// A queue that moves ends its subscriptions while channel and connection live;
// for a client that looks like a queue that is deleted and declared again.
func TestQueueThatMoves(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		d, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})
		for i := range 5 {
			untilState(t, d, SourceUp)
			v.Manage(t, http.MethodDelete, "/api/queues/"+v.Name+"/"+paySource.Queue, "")
			v.Queue(t, paySource.Queue, nil)
			publish(t, v, fmt.Sprint(i))
			untilStoredOf(t, pool, paySource, i+1)
		}
		untilState(t, d, SourceUp)
	})
}

// An exclusive queue belongs to another connection; an exclusive consumer, to
// another subscription.
func TestQueueInExclusiveUse(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"queue", "consumer"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			pool, v := pgtest.New(t), rabbittest.New(t)
			goesOn := bystander(t, pool, v)
			end := holdExclusively(t, v, what)
			source := paySource
			source.Terminal = true // not about who else consumes
			d, _ := running(t, DrainOptions{Source: source, URL: v.URL, Pool: pool})
			untilSaid(t, d, SourceBlocked, "exclusive use", "Nothing is drained")
			goesOn()
			end()
			poll.True(t, patience, "the exclusive queue is gone", func() bool { return what == "consumer" || d.Status().State == SourceMissing })
			v.Queue(t, paySource.Queue, nil)
			publish(t, v, "a")
			untilStoredOf(t, pool, paySource, 1)
			untilState(t, d, SourceUp)
		})
	}
}

func holdExclusively(t *testing.T, v *rabbittest.Vhost, what string) (end func()) {
	t.Helper()
	if what == "consumer" {
		v.Queue(t, paySource.Queue, nil)
		return consumeElsewhere(t, v, paySource.Queue, true)
	}
	conn, err := amqp.Dial(v.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ch.QueueDeclare(paySource.Queue, false, false, true, false, nil); err != nil {
		t.Fatal(err)
	}
	return func() { conn.Close() }
}

// Behind the single active consumer of a queue nothing comes, and that is said.
func TestSingleActiveConsumerIsSomebodyElse(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"classic", "quorum"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			pool, v := pgtest.New(t), rabbittest.New(t)
			v.Queue(t, paySource.Queue, rabbit.Table{"x-single-active-consumer": true, "x-queue-type": kind})
			goesOn := bystander(t, pool, v)
			publish(t, v, "held", "a", "b")
			end := consumeElsewhere(t, v, paySource.Queue, false)
			source := paySource
			source.Terminal = true
			d, _ := running(t, DrainOptions{Source: source, URL: v.URL, Pool: pool})
			untilSaid(t, d, SourceBlocked, "gives this console none", "another consumer comes first")
			goesOn()
			end()
			untilStoredOf(t, pool, paySource, 3)
			untilState(t, d, SourceUp)
		})
	}
}

func TestStreamIsNotDrained(t *testing.T) {
	t.Parallel()
	for _, with := range []string{"with management", "without"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			pool, v := pgtest.New(t), rabbittest.New(t)
			v.Queue(t, paySource.Queue, rabbit.Table{"x-queue-type": "stream"})
			goesOn := bystander(t, pool, v)
			publish(t, v, "a", "b")
			options := DrainOptions{URL: v.URL, Pool: pool}
			if with == "with management" {
				options.Management = managed(v)
			}
			d, _ := running(t, options)
			untilSaid(t, d, SourceBlocked, "is a stream", "Dead-letter to a classic or quorum queue")
			publish(t, v, "c")
			goesOn()
			untilStoredOf(t, pool, paySource, 0)
		})
	}
}

// asUser makes a user of the broker and returns the URL with which it connects.
func asUser(t *testing.T, v *rabbittest.Vhost) (name, address string) {
	t.Helper()
	name = "u" + v.Name
	v.Manage(t, http.MethodPut, "/api/users/"+name, `{"password":"pw","tags":""}`)
	t.Cleanup(func() { v.Manage(t, http.MethodDelete, "/api/users/"+name, "") })
	u, err := url.Parse(v.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, "pw")
	return name, u.String()
}

func permit(t *testing.T, v *rabbittest.Vhost, name, read string) {
	t.Helper()
	v.Manage(t, http.MethodPut, "/api/permissions/"+v.Name+"/"+name, `{"configure":"","write":"","read":"`+read+`"}`)
}

// untilCut closes the drain's connections: the broker lists a new one only after
// a while.
func untilCut(t *testing.T, v *rabbittest.Vhost, d *Drain) {
	t.Helper()
	poll.True(t, patience, "its connections are cut", func() bool {
		v.CloseConnections(t)
		return d.Status().State != SourceUp
	})
}

// A permission that is taken away is seen by the broker's connections after a
// while, and by a new one at once.
func TestPermissionIsTakenAway(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	goesOn := bystander(t, pool, v)
	name, address := asUser(t, v)
	permit(t, v, name, ".*")
	d, _ := running(t, DrainOptions{URL: address, Pool: pool})
	untilState(t, d, SourceUp)
	permit(t, v, name, "")
	publish(t, v, "a")
	untilCut(t, v, d)
	untilSaid(t, d, SourceBlocked, "does not let the console's user at", "Grant the user")
	goesOn()
	permit(t, v, name, ".*")
	untilStoredOf(t, pool, paySource, 1)
	untilState(t, d, SourceUp)

	v.Manage(t, http.MethodPut, "/api/users/"+name, `{"password":"another","tags":""}`)
	untilCut(t, v, d)
	untilSaid(t, d, SourceBlocked, "user and password")
	if s := d.Status(); strings.Contains(s.Why, "pw") {
		t.Errorf("why %q holds the password", s.Why)
	}
	v.Manage(t, http.MethodPut, "/api/users/"+name, `{"password":"pw","tags":""}`)
	untilState(t, d, SourceUp)
}

func TestVirtualHostIsDeleted(t *testing.T) {
	t.Parallel()
	pool, v, elsewhere := pgtest.New(t), terminal(t), rabbittest.New(t)
	goesOn := bystander(t, pool, elsewhere)
	d, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})
	untilState(t, d, SourceUp)
	v.Manage(t, http.MethodDelete, "/api/vhosts/"+v.Name, "")
	untilSaid(t, d, SourceMissing, "no such virtual host")
	goesOn()
	v.Manage(t, http.MethodPut, "/api/vhosts/"+v.Name, "{}")
	v.Manage(t, http.MethodPut, "/api/permissions/"+v.Name+"/guest", `{"configure":".*","write":".*","read":".*"}`)
	v.Queue(t, paySource.Queue, nil)
	publish(t, v, "a")
	untilStoredOf(t, pool, paySource, 1)
	untilState(t, d, SourceUp)
}

// A broker that restarts closes all connections with a word, takes none for a
// while, and then has everything that was durable.
func TestBrokerRestarts(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		address, proxy := through(t, v.URL)
		goesOn := bystander(t, pool, v)
		d, _ := running(t, DrainOptions{URL: address, Pool: pool})
		untilState(t, d, SourceUp)
		proxy.Refuse(true)
		v.CloseConnections(t)
		proxy.Cut()
		publish(t, v, "a", "a")
		untilSaid(t, d, SourceDown, "Nothing is drained", "tried again")
		goesOn()
		proxy.Refuse(false)
		untilStoredOf(t, pool, paySource, 2)
		untilState(t, d, SourceUp)
	})
}

// A partition drops nothing and delivers nothing; when it heals, all is there.
func TestNetworkPartition(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		address, proxy := through(t, v.URL)
		goesOn := bystander(t, pool, v)
		d, _ := running(t, DrainOptions{URL: address, Pool: pool})
		untilState(t, d, SourceUp)
		proxy.Hold(true)
		publish(t, v, "a", "a")
		untilSaid(t, d, SourceDown, "Nothing is drained")
		goesOn()
		proxy.Hold(false)
		untilStoredOf(t, pool, paySource, 2)
		untilState(t, d, SourceUp)
	})
}

// What the log says: once for each change, however often it is tried.
func TestTroubleIsLoggedOnceAChange(t *testing.T) {
	t.Parallel()
	log := &lines{}
	d := NewDrain(DrainOptions{Source: paySource, Log: log.logger()})
	down := func(detail string) {
		err := fmt.Errorf("read %s: %w", detail, rabbit.ErrUnavailable)
		d.show(context.Background(), troubleOf(err, paySource), err)
	}
	down("port 1")
	down("port 2")
	d.show(context.Background(), trouble{state: SourceUp}, nil)
	d.show(context.Background(), standby, nil)
	d.show(context.Background(), trouble{state: SourceUp}, nil)
	down("port 3")
	if got, want := log.messages(), "drain interrupted, drain is up, drain interrupted"; got != want {
		t.Errorf("logged %q, want %q", got, want)
	}
}

package main

import (
	"context"
	"syscall"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/bench/own"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/cutproxy"
)

// fault is a thing that goes wrong in one phase or more.
type fault struct {
	name   string
	weight int
	gentle bool // nothing is killed or cut: it is not counted as a kill
	strike func(context.Context, *world) error
}

// What a line shows of the moments that matter: the frame that acks, and the
// statement that commits.
var (
	ackSent    = []byte{0, 60, 0, 80}
	commitSent = []byte("commit\x00")
)

// faults are those of the phases in which the broker lives.
var faults = []fault{
	{"console killed", 4, false, func(ctx context.Context, w *world) error { return w.any().restart(ctx) }},
	{"both consoles killed", 2, false, killBoth},
	{"console killed at its commit", 4, false, at(store, commitSent, killConsole)},
	{"console killed at its ack", 3, false, at(amqpLine, ackSent, killConsole)},
	{"connection to the broker cut", 2, false, cut(amqpLine)},
	{"connection to the broker cut at a commit", 3, false, at(store, commitSent, cutBroker)},
	{"connection to the broker cut at an ack", 3, false, at(amqpLine, ackSent, cutBroker)},
	{"connection to Postgres cut", 2, false, cut(store)},
	{"connection to Postgres cut at a commit", 4, false, at(store, commitSent, cutStore)},
	{"connection to Postgres cut at an ack", 2, false, at(amqpLine, ackSent, cutStore)},
	{"Postgres killed", 1, false, killPostgres},
	{"Postgres killed at a commit", 2, false, at(store, commitSent, func(ctx context.Context, w *world, _ *console) error {
		return killPostgres(ctx, w)
	})},
	{"one process of Postgres killed", 2, false, killBackend},
	{"console frozen for a while", 2, true, freezeConsole},
	{"broker frozen for a while", 1, true, func(ctx context.Context, w *world) error { return w.broker.freeze(ctx, w.moment(time.Second)) }},
	{"rolling change of both consoles", 2, true, rollingChange},
}

// line chooses one of a console's lines.
type line func(*console) *cutproxy.Proxy

func amqpLine(c *console) *cutproxy.Proxy { return c.amqp }
func store(c *console) *cutproxy.Proxy    { return c.store }

// at strikes when a console has just said marker on a line, with the answer to
// it held back; or at no moment in particular if none says it soon.
func at(on line, marker []byte, strike func(context.Context, *world, *console) error) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		armed := []<-chan struct{}{on(w.consoles[0]).HoldAnswersAfter(marker), on(w.consoles[1]).HoldAnswersAfter(marker)}
		defer func() {
			for _, c := range w.consoles {
				on(c).HoldAnswersAfter(nil)
				on(c).HoldAnswers(false)
			}
		}()
		hit := w.any()
		select {
		case <-armed[0]:
			hit = w.consoles[0]
			w.hits++
		case <-armed[1]:
			hit = w.consoles[1]
			w.hits++
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if w.random.IntN(2) == 0 { // it may or may not get through
			if err := own.Rest(ctx, w.moment(10*time.Millisecond)); err != nil {
				return err
			}
		}
		return strike(ctx, w, hit)
	}
}

func killConsole(ctx context.Context, _ *world, c *console) error { return c.restart(ctx) }

func cutBroker(_ context.Context, _ *world, c *console) error {
	c.amqp.Cut()
	return nil
}

func cutStore(_ context.Context, _ *world, c *console) error {
	c.store.Cut()
	return nil
}

func cut(on line) func(context.Context, *world) error {
	return func(_ context.Context, w *world) error {
		on(w.any()).Cut()
		return nil
	}
}

func killBoth(ctx context.Context, w *world) error {
	for _, c := range w.consoles {
		if err := c.alive(); err != nil {
			return err
		}
		c.process.kill()
	}
	return w.start(ctx)
}

func killPostgres(ctx context.Context, w *world) error {
	w.postgres.kill()
	return w.postgres.start(ctx)
}

// killBackend kills the server's process of one drain, upon which the server
// drops all connections and recovers.
func killBackend(ctx context.Context, w *world) error {
	var pid int
	const sql = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' ORDER BY random() LIMIT 1`
	if err := w.ask(ctx, sql, nil, &pid); err != nil {
		return killPostgres(ctx, w) // none drains, or it recovers still
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

func freezeConsole(ctx context.Context, w *world) error {
	c := w.any()
	if err := c.process.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { _ = c.process.signal(syscall.SIGCONT) }()
	return own.Rest(ctx, w.moment(3*time.Second))
}

func rollingChange(ctx context.Context, w *world) error {
	for _, c := range w.consoles {
		if err := c.change(ctx); err != nil {
			return err
		}
	}
	return nil
}

// any is either console.
func (w *world) any() *console { return w.consoles[w.random.IntN(len(w.consoles))] }

// moment is a time up to most.
func (w *world) moment(most time.Duration) time.Duration {
	return time.Duration(w.random.Int64N(int64(most)))
}

// pick chooses a fault by weight.
func (w *world) pick(from []fault) fault {
	sum := 0
	for _, f := range from {
		sum += f.weight
	}
	n := w.random.IntN(sum)
	for _, f := range from {
		if n -= f.weight; n < 0 {
			return f
		}
	}
	panic("unreachable")
}

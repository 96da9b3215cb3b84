package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// queue is one that is drained; its kind is its source's name too.
type queue struct{ name, kind string }

var queues = []queue{{"q.soak.classic", "classic"}, {"q.soak.quorum", "quorum"}}

// world is all that a run started.
type world struct {
	options
	dir       string
	random    *rand.Rand
	postgres  *postgres
	broker    *broker
	consoles  []*console
	publisher *publisher

	conn  *pgx.Conn // ours to the store
	short int       // messages that were waited for in vain
	over  int       // rows too many, as far as that was seen
	hits  int       // strikes at the very moment that was aimed at
	kinds map[string]int
}

// drainWithin bounds the wait for the drain to catch up.
const drainWithin = 60 * time.Second

// openWorld starts everything. Close what it returns, also with an error.
func openWorld(ctx context.Context, o options) (*world, error) {
	w := &world{options: o, kinds: map[string]int{}}
	w.random = rand.New(rand.NewPCG(o.seed, 0)) //nolint:gosec // chance is wanted that can be had again
	var err error
	if w.dir, err = os.MkdirTemp(o.dir, "dlo-soak-"); err != nil {
		return w, err
	}
	if err := os.Chmod(w.dir, 0o711); err != nil { //nolint:gosec // the database's user passes through
		return w, err
	}
	if w.console == "" {
		if w.console, err = buildConsole(ctx, w.dir, o.race); err != nil {
			return w, err
		}
	}
	if w.postgres, err = startPostgres(ctx, w.dir); err != nil {
		return w, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if w.broker, err = startBroker(ctx, w.dir, queues); err != nil {
		return w, fmt.Errorf("start RabbitMQ: %w", err)
	}
	w.publisher = &publisher{seed: o.seed, broker: w.broker, queues: queues, books: map[int]copies{}}
	for _, name := range []string{"console-a", "console-b"} {
		c, err := newConsole(w.dir, name, w.console, w.broker, w.postgres, queues)
		if err != nil {
			return w, err
		}
		w.consoles = append(w.consoles, c)
	}
	return w, w.consoles[0].migrate(ctx)
}

// close ends and deletes all of it, and says what it could not.
func (w *world) close() {
	var errs []error
	for _, c := range w.consoles {
		c.close()
	}
	if w.publisher != nil {
		w.publisher.close()
	}
	if w.conn != nil {
		_ = w.conn.Close(context.Background()) // it may be lost already
	}
	if w.broker != nil {
		errs = append(errs, w.broker.close())
	}
	if w.postgres != nil {
		errs = append(errs, w.postgres.close())
	}
	if w.keep {
		progress("kept: %s", w.dir)
	} else if w.dir != "" {
		errs = append(errs, os.RemoveAll(w.dir))
	}
	if err := errors.Join(errs...); err != nil {
		progress("left behind: %v", err)
	}
}

// ask reads one row of the store.
func (w *world) ask(ctx context.Context, sql string, args []any, into ...any) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if w.conn == nil || w.conn.IsClosed() {
		if w.conn, err = pgx.Connect(ctx, w.postgres.url(w.postgres.addr())); err != nil {
			w.conn = nil
			return err
		}
	}
	return w.conn.QueryRow(ctx, sql, args...).Scan(into...)
}

// rows is how many deaths are stored.
func (w *world) rows(ctx context.Context) (n int, err error) {
	err = w.ask(ctx, "SELECT count(*) FROM lives", nil, &n)
	return n, err
}

// dry says what is missing until all that was confirmed is stored and the
// queues have no more to give.
func (w *world) dry(ctx context.Context) error {
	for _, c := range w.consoles {
		if err := c.alive(); err != nil {
			return err
		}
	}
	stored, err := w.rows(ctx)
	if err != nil {
		return err
	}
	if want := w.publisher.totals().confirmed - w.short; stored < want {
		return fmt.Errorf("%d of %d messages are stored", stored, want)
	}
	ready, err := w.broker.ready(queues)
	if err == nil && ready > 0 {
		err = fmt.Errorf("%d messages are in the queues", ready)
	}
	return err
}

// settled says what is missing until each source has settled its newest window.
func (w *world) settled(ctx context.Context) error {
	var sources int
	const sql = `
		SELECT count(*) FROM (SELECT DISTINCT ON (source) outstanding FROM windows ORDER BY source, drained_at DESC, id DESC) AS newest
		WHERE outstanding = 0`
	if err := w.ask(ctx, sql, nil, &sources); err != nil {
		return err
	}
	if sources < len(queues) {
		return fmt.Errorf("%d sources have settled their newest window", sources)
	}
	return nil
}

// awaitDry waits until the drain has caught up. What does not come although the
// queues are empty is lost: the verdict counts it, and the run goes on.
func (w *world) awaitDry(ctx context.Context) error {
	late := until(ctx, drainWithin, w.dry)
	if late == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ready, err := w.broker.ready(queues)
	if err != nil || ready > 0 {
		return fmt.Errorf("the drain does not catch up: %w\n%s", late, w.consoles[0].process.tail())
	}
	stored, err := w.rows(ctx)
	if err != nil {
		return err
	}
	w.short = w.publisher.totals().confirmed - stored
	progress("MISSING so far: %d", w.short)
	return nil
}

// settle ends both consoles in an orderly way with nothing left in the queues.
func (w *world) settle(ctx context.Context) error {
	for {
		if err := w.awaitDry(ctx); err != nil {
			return err
		}
		for _, c := range w.consoles {
			if err := c.stop(); err != nil {
				return err
			}
		}
		// What a console had in hand would be back by now.
		if ready, err := w.broker.ready(queues); err != nil || ready == 0 {
			return err
		}
		if err := w.start(ctx); err != nil {
			return err
		}
	}
}

func (w *world) start(ctx context.Context) error {
	for _, c := range w.consoles {
		if err := c.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// progress tells whoever waits how far it is.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

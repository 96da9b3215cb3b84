// Command soak proves that the drain brings each message into the store exactly
// once, whatever is killed meanwhile (docs/architecture.md, "Exactly once into
// the store"). It starts a RabbitMQ and a PostgreSQL of its own and two real
// consoles that share two queues, publishes messages of which many are byte for
// byte the same, and kills consoles, connections, Postgres and at last the
// broker. Then it compares the store with what was published.
//
// It leaves nothing behind, and fails if a target is missed. The seed decides
// what is published and what is struck; when exactly, the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are what a run does.
type options struct {
	seed                 uint64
	kills, dense, broker int // in each phase
	blackouts            int // likewise
	within               time.Duration
	dir, console         string
	race, keep           bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/soak:", err)
		stop()
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.Uint64Var(&o.seed, "seed", uint64(time.Now().Unix()), "what to publish and strike; printed, so that a run can be had again") //nolint:gosec // not before 1970
	f.IntVar(&o.kills, "kills", 200, "of console, connections and Postgres, one at a time")
	f.IntVar(&o.dense, "dense", 40, "the same, without time to recover")
	f.IntVar(&o.broker, "broker", 12, "kills of the broker")
	f.IntVar(&o.blackouts, "blackouts", 4, "kills of the consoles and then of the broker")
	f.DurationVar(&o.within, "within", 30*time.Minute, "the longest that the phases may take")
	f.StringVar(&o.dir, "dir", "/var/tmp", "where everything is kept meanwhile")
	f.StringVar(&o.console, "console", "", "a console to use instead of building one")
	f.BoolVar(&o.race, "race", false, "build the console with the race detector")
	f.BoolVar(&o.keep, "keep", false, "do not delete logs and data")
	return o, f.Parse(args)
}

// errMissed: the run went well, and what it found is not.
var errMissed = errors.New("a target is missed")

// run performs the phases and prints the report.
func run(ctx context.Context, o options, out io.Writer) error {
	progress("seed %d", o.seed)
	w, err := openWorld(ctx, o)
	defer w.close()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.within, fmt.Errorf("the run took longer than %v", o.within))
	defer cancel()
	r := newReport(o)
	for i, p := range phases(o) {
		if p.kills == 0 {
			continue
		}
		v, err := w.perform(ctx, i, p)
		if err != nil {
			return fmt.Errorf("seed %d: %w", o.seed, err)
		}
		r.add(p, v)
	}
	if err := r.recognised(ctx, w); err != nil {
		return err
	}
	good, err := r.write(out, w.kinds)
	if err == nil && !good {
		err = fmt.Errorf("%w, seed %d", errMissed, o.seed)
	}
	return err
}

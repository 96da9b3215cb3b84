// Command drain measures how fast the console takes messages off a terminal
// queue, beside the limits that the broker and the store set on the same
// machine. docs/performance.md says what each part does and why it is fair.
//
// It builds and starts the real console, and leaves nothing behind: the virtual
// host, the database server and its files are its own and go when it ends. It
// fails when something broke, not when a target was missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// options are what a run measures.
type options struct {
	count, naive, runs int
	sizes              []int
	parts              []string
	postgres           string // of a server that is there; "": one of our own
	dir                string // where our own keeps its files
	console            string // a binary to measure; "": the one of this tree
	markdown           bool
	statements         bool
	small, big, bulk   int // messages in the parts that watch the memory
}

// allParts are what -parts takes, in the order of the table.
var allParts = []string{"broker", "store", "naive", "drain", "search", "latency", "memory"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench/drain:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	b, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.measure(ctx); err != nil {
		return err
	}
	return b.report.write(os.Stdout, o.markdown)
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("drain", flag.ContinueOnError)
	f.IntVar(&o.count, "count", 100_000, "messages in the queue")
	f.IntVar(&o.naive, "naive", 3_000, "messages of the naive consumer")
	f.IntVar(&o.runs, "runs", 3, "runs of each part, one fewer above 4 KB; the median counts")
	sizes := f.String("sizes", "1024,10240", "bytes of a body")
	parts := f.String("parts", strings.Join(allParts, ","), "what to measure")
	f.StringVar(&o.postgres, "postgres", "", "URL of a PostgreSQL `server` to use instead of starting one; its user must be superuser")
	f.StringVar(&o.dir, "dir", "/var/tmp", "where the database is kept meanwhile: on a disk, not in memory")
	f.StringVar(&o.console, "console", "", "a console `binary` to measure instead of building one")
	f.BoolVar(&o.markdown, "markdown", false, "print the table as docs/performance.md has it")
	f.BoolVar(&o.statements, "statements", false, "tell which SQL the drain spent its time on; that slows it a little")
	quick := f.Bool("quick", false, "a fifth of everything, for development")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.small, o.big, o.bulk = 10_000, 100, 200_000
	if *quick {
		o.count, o.naive, o.bulk, o.big, o.runs = o.count/5, o.naive/5, o.bulk/5, o.big/5, 1
	}
	o.parts = strings.Split(*parts, ",")
	for _, p := range o.parts {
		if !slices.Contains(allParts, p) {
			return o, fmt.Errorf("-parts: there is no part %q; the parts are %s", p, strings.Join(allParts, ", "))
		}
	}
	for s := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < minBody {
			return o, fmt.Errorf("-sizes: %q is not a number of bytes from %d on", s, minBody)
		}
		o.sizes = append(o.sizes, n)
	}
	if o.count < 1 || o.naive < 1 || o.runs < 1 {
		return o, errors.New("-count, -naive and -runs must be at least 1")
	}
	return o, nil
}

func (o options) wants(part string) bool { return slices.Contains(o.parts, part) }

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// demoOptions say how the demo is run.
type demoOptions struct {
	console string // the console's binary
	name    string // of its virtual host and databases
	dir     string // for its settings and logs
	listen  string // the console's pages
	page    string // where faults are caused and mended
	tiers   []tier
	times   string  // of the tiers, as they were given
	rate    float64 // orders a second
	keep    bool    // what an earlier demo left
}

func demoCommand(ctx context.Context, args []string) error {
	var s services
	var o demoOptions
	flags := flag.NewFlagSet("paydemo demo", flag.ContinueOnError)
	s.flagsFor(flags)
	flags.StringVar(&s.management, "management", fromEnvironment("MANAGEMENT"), "management API of the broker (or DLO_MANAGEMENT_URL, DLO_TEST_MANAGEMENT_URL)")
	flags.StringVar(&o.console, "console", "bin/console", "the console's binary")
	flags.StringVar(&o.name, "name", "demo", "name for the demo's own virtual host and databases")
	flags.StringVar(&o.dir, "dir", "", "folder for settings and logs (default .run/NAME)")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address of the console; another port is taken where this one is in use")
	flags.StringVar(&o.page, "page", "127.0.0.1:8090", "address of the page that causes and mends faults; the console's runbook link leads there")
	flags.StringVar(&o.times, "tiers", "2s,3s,4s", "times of the wait queues")
	flags.Float64Var(&o.rate, "rate", 2, "orders a second")
	flags.BoolVar(&o.keep, "keep", false, "go on with what an earlier demo left, rather than afresh")
	if err := flags.Parse(args); err != nil {
		return usage(err)
	}
	if err := o.complete(s); err != nil {
		return usage(err)
	}
	return runDemo(ctx, s, o)
}

// complete fills in what follows from the rest and refuses what cannot work.
func (o *demoOptions) complete(s services) (err error) {
	for kind, url := range map[string]string{"POSTGRES": s.postgres, "AMQP": s.amqp, "REDIS": s.redis} {
		if url == "" {
			return fmt.Errorf("DLO_%s_URL or DLO_TEST_%s_URL is required: scripts/services start, then source .run/env", kind, kind)
		}
	}
	if !plainName(o.name) {
		return errors.New("-name takes small letters, digits and _")
	}
	if o.rate <= 0 || o.rate > 1000 {
		return errors.New("-rate must be more than 0 and at most 1000")
	}
	if o.dir == "" {
		o.dir = filepath.Join(".run", o.name)
	}
	o.tiers, err = parseTiers(o.times)
	return err
}

func plainName(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return s != ""
}

// runDemo prepares everything, runs it until ctx is cancelled or a part ends by
// itself, and stops it in the order in which the parts need each other.
func runDemo(ctx context.Context, s services, o demoOptions) error {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return fmt.Errorf("paydemo: demo: %w", err)
	}
	unlock, err := lockDir(o.dir)
	if err != nil {
		return err
	}
	defer unlock()
	say("preparing")
	place, err := prepare(ctx, s, o)
	if err != nil {
		return err
	}
	pool, err := openDatabase(ctx, place.services.postgres, 0)
	if err != nil {
		return err
	}
	defer pool.Close()
	log, closeLog, err := fileLog(o.dir)
	if err != nil {
		return err
	}
	defer closeLog()
	d := &demo{o: o, place: place, pool: pool, log: log}
	return d.run(ctx)
}

// demo is a demo that is prepared.
type demo struct {
	o     demoOptions
	place place
	pool  *pgxpool.Pool
	log   *slog.Logger
}

func (d *demo) run(ctx context.Context) error {
	page, err := listenNear(ctx, d.o.page)
	if err != nil {
		return err
	}
	conf, err := newConsoleConf(ctx, d.o, d.place, "http://"+asSeen(page.Addr().String())+"/")
	if err != nil {
		return err
	}
	path := filepath.Join(d.o.dir, "console.yaml")
	if err := errors.Join(conf.write(path), d.console("migrate", path).run(ctx)); err != nil {
		_ = page.Close()
		return err
	}

	// The console outlives the rest, so that it sees what the rest still does.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	consoleCtx, stopConsole := context.WithCancel(context.WithoutCancel(ctx))
	defer stopConsole()
	var first, last sync.WaitGroup
	last.Go(func() { stop(orEnded(consoleCtx, "the console", d.console("serve", path).run(consoleCtx))) })
	first.Go(func() { stop(d.web().serve(ctx, page)) })
	first.Go(func() { stop(d.consumer().runAgain(ctx)) })
	first.Go(func() { stop(d.stream(ctx)) })
	first.Go(func() { d.announce(ctx, conf, stop) })
	<-ctx.Done()
	say("stopping")
	first.Wait()
	stopConsole()
	last.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	say("stopped")
	return nil
}

// orEnded makes an error of an end that was not asked for.
func orEnded(ctx context.Context, what string, err error) error {
	if err == nil && ctx.Err() == nil {
		return fmt.Errorf("paydemo: demo: %s ended by itself", what)
	}
	return err
}

func (d *demo) web() *web { return newWeb(d.pool, &sender{url: d.place.services.amqp}, d.log) }

func (d *demo) console(command, config string) child {
	return child{
		name: "console " + command, path: d.o.console, args: []string{command, "--config", config},
		env: withoutDLO(os.Environ()), log: filepath.Join(d.o.dir, "console.log"),
	}
}

func (d *demo) consumer() child {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return child{
		name: "consumer", path: self, args: []string{"consume", "-tiers", d.o.times, "-slow-bank", "3s"},
		env: append(withoutDLO(os.Environ()), d.place.services.environ()...), log: filepath.Join(d.o.dir, "consumer.log"),
	}
}

// readyWithin is how long the console may take to be ready.
const readyWithin = time.Minute

// announce prints the one address that people need, once it answers.
func (d *demo) announce(ctx context.Context, conf consoleConf, stop context.CancelCauseFunc) {
	if err := waitReady(ctx, conf.readyURL(), readyWithin); err != nil {
		if ctx.Err() == nil {
			stop(fmt.Errorf("paydemo: demo: the console is not ready; %s says why: %w", filepath.Join(d.o.dir, "console.log"), err))
		}
		return
	}
	fmt.Printf("Dead Letter Office: %s\n", conf.url())
	say("payments are flowing and some will fail; Ctrl-C stops the demo, and the next one begins afresh (--keep goes on)")
	say("the payment system's own page, to mend what failed: " + conf.Runbook)
}

// say tells people how far the demo is. Standard output is for the address.
func say(what string) { fmt.Fprintln(os.Stderr, "demo:", what) }

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/bench/own"
)

// bench is what a run works with.
type bench struct {
	options
	broker   *broker
	postgres *postgres
	store    store
	program  *program
	report   *report
}

// open starts and makes all that a run needs.
func open(ctx context.Context, o options) (_ *bench, err error) {
	b := &bench{options: o}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	root, err := own.ModuleRoot()
	if err != nil {
		return nil, err
	}
	addresses, err := services(root)
	if err != nil {
		return nil, err
	}
	if b.broker, err = openBroker(ctx, addresses["AMQP"], addresses["MANAGEMENT"]); err != nil {
		return nil, fmt.Errorf("RabbitMQ: %w", err)
	}
	if b.postgres, err = openPostgres(ctx, o); err != nil {
		return nil, err
	}
	b.program, err = makeConsole(ctx, root, o.console, b.broker.url, addresses["MANAGEMENT"], b.postgres.url)
	if err != nil {
		return nil, err
	}
	if b.store.conn, err = pgx.Connect(ctx, b.postgres.url); err != nil {
		return nil, err
	}
	if _, err := b.store.conn.Exec(ctx, "CREATE EXTENSION pgstattuple"); err != nil {
		progress("no figure of dead tuples: %v", err)
	}
	if o.statements {
		if _, err := b.store.conn.Exec(ctx, "CREATE EXTENSION pg_stat_statements"); err != nil {
			return nil, err
		}
	}
	b.report = newReport(o)
	return b, b.report.describe(ctx, b)
}

// close ends and deletes all of it, and says what it could not.
func (b *bench) close() {
	var errs []error
	if b.store.conn != nil {
		errs = append(errs, b.store.conn.Close(context.Background()))
	}
	if b.program != nil {
		errs = append(errs, b.program.close())
	}
	if b.broker != nil {
		errs = append(errs, b.broker.close())
	}
	if b.postgres != nil {
		errs = append(errs, b.postgres.close())
	}
	if err := errors.Join(errs...); err != nil {
		progress("left behind: %v", err)
	}
}

// measure takes all parts.
func (b *bench) measure(ctx context.Context) error {
	for _, size := range b.sizes {
		if err := (&trial{bench: b, size: size}).run(ctx); err != nil {
			return err
		}
	}
	if b.wants("memory") {
		return b.memory(ctx)
	}
	return nil
}

// services are the addresses of the brokers for tests, by kind: from the
// environment, else as scripts/services wrote them down.
func services(root string) (map[string]string, error) {
	found := map[string]string{}
	f, err := os.Open(filepath.Join(root, ".run", "env"))
	if err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
			found[name] = strings.Trim(value, "'")
		}
	}
	addresses := map[string]string{}
	for _, kind := range []string{"AMQP", "MANAGEMENT"} {
		name := "DLO_TEST_" + kind + "_URL"
		addresses[kind] = found[name]
		if v := os.Getenv(name); v != "" {
			addresses[kind] = v
		}
		if addresses[kind] == "" {
			return nil, fmt.Errorf("%s is not known: run `make services`, or set it to a service of yours", name)
		}
	}
	return addresses, nil
}

// progress tells whoever waits what has been measured so far.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

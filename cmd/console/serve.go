package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/seed-d2bf649b/dead-letter-office/internal/config"
	"github.com/seed-d2bf649b/dead-letter-office/migrations"
)

const (
	// connectTimeout bounds one attempt to connect to anything.
	connectTimeout = 5 * time.Second
	// closeTimeout bounds the goodbye to a database.
	closeTimeout = time.Second
	// schemaPoll is how often a console that is ahead of its database looks
	// whether it was migrated.
	schemaPoll = time.Second
)

// serve drains the sources and serves pages, API and metrics until ctx ends.
// It starts whatever is down: health and metrics answer at once, pages and
// drains begin when the database is there and migrated.
func serve(ctx context.Context, s settings) error {
	c, warnings, err := config.Load(s.input, config.ForServe)
	if err != nil {
		return err
	}
	log := newLogger(s, c.Log)
	for _, w := range warnings {
		log.WarnContext(ctx, "configuration", "warning", w)
	}
	public, err := listen(ctx, "server.listen", c.Server.Listen)
	if err != nil {
		return err
	}
	defer public.Close()
	private, err := listen(ctx, "server.metrics_listen", c.Server.MetricsListen)
	if err != nil {
		return err
	}
	defer private.Close()

	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	o, err := newOffice(ctx, c, reg, log)
	if err != nil {
		return err
	}
	defer o.close()

	grace := time.Duration(c.Server.Grace)
	door := &gate{why: o.whyNotReady}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serveHTTP(ctx, newServer(door), public, grace) })
	group.Go(func() error { return serveHTTP(ctx, newServer(metricsHandler(reg, o.ready)), private, grace) })
	group.Go(func() error {
		<-ctx.Done()
		o.ready.stop()
		return nil
	})
	group.Go(func() error { return o.work(ctx, door) })
	log.InfoContext(ctx, "console is listening", "version", releaseOf(), "url", c.Server.ExternalURL,
		"listen", public.Addr().String(), "metrics", private.Addr().String(), "sources", len(c.Sources))
	err = group.Wait()
	log.InfoContext(ctx, "console has stopped")
	return err
}

// work waits for the schema, opens the door and joins every loop.
func (o *office) work(ctx context.Context, door *gate) error {
	if err := awaitSchema(ctx, o.pool, o.log); err != nil {
		return ignoreCancelled(ctx, err)
	}
	door.set(http.Handler(o.pages))
	group, ctx := errgroup.WithContext(ctx)
	for _, loop := range o.loops {
		group.Go(func() error { return loop(ctx) })
	}
	return group.Wait()
}

// awaitSchema returns once the database has this binary's schema. It logs each
// new reason to wait once.
func awaitSchema(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) error {
	said := ""
	for {
		err := migrations.Check(ctx, pool)
		if err == nil || errors.Is(err, migrations.ErrAhead) || ctx.Err() != nil {
			return err
		}
		if err.Error() != said {
			said = err.Error()
			log.WarnContext(ctx, "waiting for the database", "err", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(schemaPoll):
		}
	}
}

// ignoreCancelled returns nil where err only says that ctx ended.
func ignoreCancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// newLogger writes to the program's standard error.
func newLogger(s settings, c config.Log) *slog.Logger {
	level := map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError}[c.Level]
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(s.stderr, options))
	}
	return slog.New(slog.NewTextHandler(s.stderr, options))
}

// ownerName tells consoles apart in claims: machine, process and a random part,
// since containers share the first two.
func ownerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "console"
	}
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), hex.EncodeToString(b[:]))
}

// buildInfo is the metric that says which release answers.
func buildInfo() prometheus.Collector {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "dlo_build_info", Help: "Always 1; the label says which version of the console this is.",
	}, []string{"version"})
	g.WithLabelValues(releaseOf()).Set(1)
	return g
}

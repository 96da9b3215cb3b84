package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/auth"
	"github.com/seed-d2bf649b/dead-letter-office/internal/config"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/migrations"
	"github.com/seed-d2bf649b/dead-letter-office/web"
)

// office is the console's parts, put together and not yet running.
type office struct {
	log        *slog.Logger
	pool       *pgxpool.Pool
	store      *dlq.Store
	redis      redis.UniversalClient // nil where none is configured
	registry   *keys.Registry        // nil where no Redis is configured
	databases  map[string]*pgxpool.Pool
	publishers map[string]*rabbit.Publisher
	management map[string]*rabbit.Management
	replays    *replay.Service
	drains     drains
	pages      *web.Server
	ready      *readiness
	loops      []func(context.Context) error
}

// newOffice builds every part. It opens connections lazily, so that a
// dependency which is down is a state to show and no reason not to start.
func newOffice(ctx context.Context, c config.Config, reg prometheus.Registerer, log *slog.Logger) (_ *office, err error) {
	o := &office{
		log: log, ready: newReadiness(), databases: map[string]*pgxpool.Pool{},
		publishers: map[string]*rabbit.Publisher{}, management: map[string]*rabbit.Management{},
	}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	if err := o.connect(ctx, c); err != nil {
		return nil, err
	}
	o.buildReplays(c, reg)
	o.buildDrains(c, reg)
	if err := o.buildPages(c); err != nil {
		return nil, err
	}
	figures := dlq.NewCollector(o.store, o.drains.Statuses)
	if err := reg.Register(figures); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	o.loops = append(o.loops, figures.Run, o.replays.Run, o.pages.Run, dlq.NewSearchText(o.pool, o.drains.Busy, o.log).Run)
	for _, d := range o.drains {
		o.loops = append(o.loops, d.Run)
	}
	o.watch()
	return o, nil
}

// connect prepares the clients of everything outside.
func (o *office) connect(ctx context.Context, c config.Config) (err error) {
	if o.pool, err = openStore(c.Database.URL); err != nil {
		return err
	}
	o.store = dlq.NewStore(o.pool)
	for _, d := range c.BusinessDatabases {
		if o.databases[d.Name], err = openProbePool(d.URL); err != nil {
			return err
		}
	}
	for _, b := range c.Brokers {
		o.publishers[b.Name] = rabbit.NewPublisher(b.URL.Reveal(), "dead-letter-office replay", o.log)
		if b.ManagementURL != "" {
			o.management[b.Name] = rabbit.NewManagement(b.ManagementURL.Reveal(), b.URL.Reveal())
		}
	}
	if len(c.Redis.URLs) == 0 {
		return nil
	}
	if o.redis, err = keys.Connect(ctx, keys.Options{URLs: reveal(c.Redis.URLs), Mode: c.Redis.Mode}); err != nil {
		return err
	}
	o.registry = keys.NewRegistry(o.redis, spacesOf(c))
	return nil
}

func (o *office) buildReplays(c config.Config, reg prometheus.Registerer) {
	o.replays = replay.New(replay.Options{
		Pool: o.pool, Store: o.store, Keys: o.registry,
		Publishers: replay.Publishers(o.publishers), Management: o.management, Databases: o.databases,
		Plans: plansOf(c), Owner: ownerName(), Log: o.log,
		OutcomeTimeout: time.Duration(c.Replay.OutcomeTimeout),
		Metrics:        replay.NewMetrics(reg, namesOf(c.Sources), spaceNames(c)),
	})
}

func (o *office) buildDrains(c config.Config, reg prometheus.Registerer) {
	metrics := dlq.NewMetrics(reg, namesOf(c.Sources))
	brokers := map[string]config.Broker{}
	for _, b := range c.Brokers {
		brokers[b.Name] = b
	}
	for _, s := range c.Sources {
		o.drains = append(o.drains, dlq.NewDrain(dlq.DrainOptions{
			Source: sourceOf(s), URL: brokers[s.Broker].URL.Reveal(), FrameMax: int(brokers[s.Broker].FrameMax),
			Management: o.management[s.Broker],
			Pool:       o.pool, Returns: o.replays, Metrics: metrics, Log: o.log,
			Grace: time.Duration(c.Server.Grace) * 3 / 4,
		}))
	}
}

func (o *office) buildPages(c config.Config) error {
	effective, err := c.Effective()
	if err != nil {
		return err
	}
	runbooks := map[string]string{}
	for _, s := range c.Sources {
		runbooks[s.Name] = s.RunbookURL
	}
	o.pages, err = web.New(web.Options{
		Messages: o.store, Sources: o.drains, Replays: o.replays, Audit: audit.NewLog(o.pool),
		Reimports: dlq.NewReimporter(o.pool, sourcesOf(c)),
		Spaces:    spacesOf(c), Runbooks: runbooks,
		Environment: web.Environment{Name: c.Environment.Name, Color: c.Environment.Color},
		BasePath:    c.Server.BasePath, ExternalURL: c.Server.ExternalURL, Effective: effective,
		BodyInline: int(c.Display.BodyInline),
		Actor:      func(*http.Request) (auth.Actor, error) { return auth.Anonymous, nil },
		AuthOff:    true, Log: o.log,
	})
	return err
}

// watch lists what must answer before the console calls itself ready.
func (o *office) watch() {
	o.ready.always["postgres"] = func(ctx context.Context) error { return writable(ctx, o.pool) }
	o.ready.always["schema"] = func(ctx context.Context) error { return migrations.Check(ctx, o.pool) }
	if o.registry != nil {
		o.ready.once["redis"] = o.registry.Ping
	}
	for _, d := range o.drains {
		o.ready.once["source "+d.Status().Name] = func(context.Context) error {
			if s := d.Status(); s.State == dlq.SourceDown {
				return fmt.Errorf("%s: %w", s.Why, rabbit.ErrUnavailable)
			}
			return nil
		}
	}
}

// whyNotReady says in one line what the console waits for.
func (o *office) whyNotReady() string {
	if err := migrations.Check(context.Background(), o.pool); err != nil {
		return err.Error()
	}
	return "its parts are being started"
}

// close releases what newOffice opened; all loops have ended by then.
func (o *office) close() {
	for _, p := range o.publishers {
		_ = p.Close() // the connection is going away either way
	}
	for _, db := range o.databases {
		closeSoon(db)
	}
	if o.redis != nil {
		_ = o.redis.Close() // likewise
	}
	closeSoon(o.pool)
}

// closeSoon closes a pool, and does not wait for a server that hangs: a pool waits
// for each of its servers' goodbyes, and the process ends either way.
func closeSoon(pool *pgxpool.Pool) {
	if pool == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		pool.Close()
	}()
	select {
	case <-closed:
	case <-time.After(closeTimeout):
	}
}

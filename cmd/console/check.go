package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/config"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/migrations"
)

// checker prints one line for each thing it looked at.
type checker struct {
	s      settings
	failed bool
}

// line reports one check: what was reached, or why not.
func (k *checker) line(what, ok string, err error) {
	if err != nil {
		k.failed = true
		fmt.Fprintf(k.s.stdout, "FAIL  %-28s %v\n", what, err)
		return
	}
	fmt.Fprintf(k.s.stdout, "ok    %-28s %s\n", what, ok)
}

// check validates the settings and reaches every dependency. It changes
// nothing anywhere, and fails if one line did.
func check(ctx context.Context, s settings) error {
	k := &checker{s: s}
	c, warnings, err := config.Load(s.input, config.ForServe)
	k.line("settings", "valid", err)
	if err != nil {
		return errReported
	}
	for _, w := range warnings {
		fmt.Fprintf(s.stdout, "note  %-28s %s\n", "settings", w)
	}
	k.database(ctx, c)
	k.redis(ctx, c)
	k.brokers(ctx, c)
	k.businessDatabases(ctx, c)
	if k.failed {
		return errReported
	}
	return nil
}

func (k *checker) database(ctx context.Context, c config.Config) {
	pool, err := openPool(c.Database.URL, "console check")
	if err != nil {
		k.line("database", "", err)
		return
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := writable(ctx, pool); err != nil {
		k.line("database", "", unreachable(c.Database.URL, err))
		return
	}
	k.line("database", c.Database.URL.String(), nil)
	k.line("database schema", "up to date", migrations.Check(ctx, pool))
}

func (k *checker) redis(ctx context.Context, c config.Config) {
	if len(c.Redis.URLs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	client, err := keys.Connect(ctx, keys.Options{URLs: reveal(c.Redis.URLs), Mode: c.Redis.Mode})
	if err != nil {
		k.line("redis", "", err)
		return
	}
	defer client.Close()
	k.line("redis", c.Redis.URLs[0].String(), keys.NewRegistry(client, spacesOf(c)).Ping(ctx))
}

func (k *checker) brokers(ctx context.Context, c config.Config) {
	management := map[string]*rabbit.Management{}
	urls := map[string]string{}
	for _, b := range c.Brokers {
		urls[b.Name] = b.URL.Reveal()
		if b.ManagementURL != "" {
			management[b.Name] = rabbit.NewManagement(b.ManagementURL.Reveal(), b.URL.Reveal())
		}
	}
	for _, b := range c.Brokers {
		k.publishing(ctx, b)
	}
	for _, s := range c.Sources {
		k.source(ctx, s, urls[s.Broker], management[s.Broker])
	}
}

// publishing sends a message to a queue that does not exist: that it comes
// back as unroutable shows that the user may publish. Whether the user may read
// the terminal queues cannot be tried without touching their messages.
func (k *checker) publishing(ctx context.Context, b config.Broker) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	p := rabbit.NewPublisher(b.URL.Reveal(), "dead-letter-office check", nil)
	defer p.Close()
	err := p.Publish(ctx, rabbit.Message{RoutingKey: "dlo.check." + rand.Text()})
	if errors.Is(err, rabbit.ErrReturned) {
		err = nil
	}
	k.line("broker "+b.Name, b.URL.String()+" takes messages", err)
}

func (k *checker) source(ctx context.Context, s config.Source, url string, m *rabbit.Management) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	ready, consumers, err := rabbit.Depth(ctx, url, s.Queue)
	k.line("source "+s.Name, fmt.Sprintf("%s: %d ready, %d consumers", s.Queue, ready, consumers), err)
	if err != nil || m == nil {
		return
	}
	facts, err := m.Queue(ctx, s.Queue)
	k.line("management of "+s.Broker, fmt.Sprintf("%s: %d unacked", s.Queue, facts.Unacked), err)
	for _, h := range dlq.HazardsOf(facts) {
		if s.Terminal != "confirmed" {
			fmt.Fprintf(k.s.stdout, "note  %-28s is not drained until it is confirmed on the Sources page: %s\n", "source "+s.Name, h)
		}
	}
}

func (k *checker) businessDatabases(ctx context.Context, c config.Config) {
	for _, d := range c.BusinessDatabases {
		pool, err := openProbePool(d.URL)
		if err != nil {
			k.line("business database "+d.Name, "", err)
			continue
		}
		k.guards(ctx, c, d, pool)
		pool.Close()
	}
}

// guards prepares each guard's query, which finds a missing table, column or
// right without reading a row.
func (k *checker) guards(ctx context.Context, c config.Config, d config.BusinessDatabase, pool *pgxpool.Pool) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		k.line("business database "+d.Name, "", unreachable(d.URL, err))
		return
	}
	defer conn.Release()
	k.line("business database "+d.Name, d.URL.String(), nil)
	for _, s := range c.Sources {
		for _, g := range s.Guards {
			if g.Database != d.Name {
				continue
			}
			_, err := conn.Conn().Prepare(ctx, "", g.Query)
			k.line(fmt.Sprintf("guard %s of %s", g.Name, s.Name), "its query is accepted", err)
		}
	}
}

// unreachable keeps the driver's cause and names the server without its
// password.
func unreachable(address config.Secret, err error) error {
	return fmt.Errorf("%s: %w", address, err)
}

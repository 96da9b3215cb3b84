package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
)

// services are the addresses of what the system stands on.
type services struct {
	postgres, amqp, redis, management string
}

// flagsFor adds the addresses to a command's flags. Addresses hold passwords,
// so that the environment is the better place for them.
func (s *services) flagsFor(flags *flag.FlagSet) {
	flags.StringVar(&s.postgres, "postgres", fromEnvironment("POSTGRES"), "business database (or DLO_POSTGRES_URL, DLO_TEST_POSTGRES_URL)")
	flags.StringVar(&s.amqp, "amqp", fromEnvironment("AMQP"), "broker (or DLO_AMQP_URL, DLO_TEST_AMQP_URL)")
	flags.StringVar(&s.redis, "redis", fromEnvironment("REDIS"), "Redis (or DLO_REDIS_URL, DLO_TEST_REDIS_URL)")
}

func fromEnvironment(kind string) string {
	if url := os.Getenv("DLO_" + kind + "_URL"); url != "" {
		return url
	}
	return os.Getenv("DLO_TEST_" + kind + "_URL")
}

// environ is how a child process is given the addresses: not as arguments,
// which everybody on the machine can read.
func (s services) environ() []string {
	return []string{
		"DLO_POSTGRES_URL=" + s.postgres, "DLO_AMQP_URL=" + s.amqp,
		"DLO_REDIS_URL=" + s.redis, "DLO_MANAGEMENT_URL=" + s.management,
	}
}

// openDatabase connects to the business database and applies the schema. runs
// is how many payments are made at once: each asks the bank while it holds a
// transaction, and must not wait for a connection that the others hold.
func openDatabase(ctx context.Context, url string, runs int) (*pgxpool.Pool, error) {
	if url == "" {
		return nil, errors.New("paydemo: the business database is not named: give -postgres or DLO_POSTGRES_URL")
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("paydemo: the business database's URL cannot be read")
	}
	config.MaxConns = int32(2*runs + 4)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("paydemo: open the business database: %w", err)
	}
	if err := applySchema(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// openRedis does not wait for Redis: the consumer does.
func openRedis(url string) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("paydemo: Redis's URL cannot be read: give -redis or DLO_REDIS_URL")
	}
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = 2*time.Second, 2*time.Second, 2*time.Second
	return redis.NewClient(o), nil
}

func newLog() *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/guard"
)

// consumerName is how the consumer is known in counters and logs.
const consumerName = "pay-success"

// keyPattern names the idempotency keys, as in the console's key space.
const keyPattern = "mq:consumed:pay_success:{business_key}"

// consumeOptions say how the consumer is set up.
type consumeOptions struct {
	guards      []string // of redis, state, index
	style       guard.Style
	bareFlag    bool
	ttl         time.Duration
	fallback    guard.Fallback
	tiers       []tier
	maxRuns     int
	concurrency int
	lateInside  bool
	slowBank    time.Duration
}

var allGuards = []string{"redis", "state", "index"}

func (o consumeOptions) has(name string) bool { return slices.Contains(o.guards, name) }

// parseGuards reads a list such as "redis,state", or "none".
func parseGuards(s string) ([]string, error) {
	if s == "none" {
		return nil, nil
	}
	guards := strings.Split(s, ",")
	for _, g := range guards {
		if !slices.Contains(allGuards, g) {
			return nil, fmt.Errorf("guards are %s, or none; not %q", strings.Join(allGuards, ", "), g)
		}
	}
	return guards, nil
}

func consumeCommand(ctx context.Context, args []string) error {
	var s services
	o := consumeOptions{guards: allGuards, tiers: articleTiers()}
	flags := flag.NewFlagSet("paydemo consume", flag.ContinueOnError)
	s.flagsFor(flags)
	flags.Func("guards", "which guards are on: redis,state,index or none (default all)", func(v string) (err error) {
		o.guards, err = parseGuards(v)
		return err
	})
	flags.Func("tiers", "times of the wait queues, as for topology (default 30s,1m,5m)", func(v string) (err error) {
		o.tiers, err = parseTiers(v)
		return err
	})
	flags.StringVar((*string)(&o.style), "style", string(guard.Status), "style of keys: status, flag or hash")
	flags.BoolVar(&o.bareFlag, "bare-flag", false, `write flags as a bare "1", without an owner`)
	flags.DurationVar(&o.ttl, "ttl", 24*time.Hour, "TTL of keys")
	flags.StringVar((*string)(&o.fallback), "fallback", string(guard.FailClosed), "while Redis is away: closed or open")
	flags.IntVar(&o.maxRuns, "max", 5, "failed runs after which a message is terminal")
	flags.IntVar(&o.concurrency, "concurrency", 4, "deliveries handled at once")
	flags.BoolVar(&o.lateInside, "unsafe-late-step", false, "send the notice inside the run, as in the incident")
	flags.DurationVar(&o.slowBank, "slow-bank", 8*time.Second, "how long a slow bank takes")
	if err := flags.Parse(args); err != nil {
		return usage(err)
	}
	if o.concurrency < 1 || o.concurrency > 1000 {
		return usage(errors.New("-concurrency must be from 1 to 1000"))
	}
	return runConsumer(ctx, s, o, newLog())
}

// runConsumer consumes until ctx is cancelled.
func runConsumer(ctx context.Context, s services, o consumeOptions, log *slog.Logger) error {
	pool, err := openDatabase(ctx, s.postgres, o.concurrency)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := setIndexGuard(ctx, pool, o.has("index")); err != nil {
		return err
	}
	client, err := openRedis(s.redis)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	consumer, err := newConsumer(s, o, pool, client, log)
	if err != nil {
		return err
	}
	return consumer.Run(ctx)
}

func newConsumer(s services, o consumeOptions, pool *pgxpool.Pool, client *redis.Client, log *slog.Logger) (*guard.Consumer, error) {
	var keys *guard.Keys
	if o.has("redis") {
		var err error
		keys, err = guard.NewKeys(client, guard.KeyOptions{Pattern: keyPattern, Style: o.style, TTL: o.ttl, BareFlag: o.bareFlag})
		if err != nil {
			return nil, err
		}
	}
	c := controls{pool}
	p := &payer{
		pool: pool, controls: c, bank: bank{pool, c, o.slowBank},
		stateGuard: o.has("state"), indexGuard: o.has("index"), lateInside: o.lateInside, crash: killSelf,
	}
	return guard.New(guard.Options{
		URL: s.amqp, Queue: queuePay, Name: consumerName,
		BusinessKey: guard.BodyField("orderNo"), Handle: p.handle, After: p.after,
		Keys: keys, Fallback: o.fallback, Redis: client,
		Ladder: ladder(o.tiers, o.maxRuns), Guards: []string{guardState, guardEffect},
		Concurrency: o.concurrency, Log: log,
	})
}

// killSelf ends the process as kill -9 does: nothing runs any more, no
// connection is closed in order.
func killSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// errUsage ends the program with the status for a wrong command line; what was
// wrong has been printed.
var errUsage = errors.New("paydemo: wrong command line")

func usage(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return fmt.Errorf("%w: %w", errUsage, err)
}

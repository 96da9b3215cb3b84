package replay_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/redistest"
)

const (
	work     = "q.pay.success"
	exchange = "ex.pay"
	key      = "pay.success"
	ttl      = 10 * time.Minute
	old      = 6 * time.Minute
	// patience is for what a loop does by and by.
	patience = 20 * time.Second
)

// spaces are those of the test source; each test uses the ones it names.
var spaces = []keys.Space{
	{Name: "status", Pattern: "idempotent:msg:{business_key}", Style: keys.Status, TTL: ttl, StuckAfter: 5 * time.Minute},
	{Name: "flag", Pattern: "mq:consumed:{business_key}", Style: keys.Flag, TTL: ttl, StuckAfter: 5 * time.Minute},
}

// probes are the two guards of the business database.
var probes = []replay.Guard{
	{
		Name: "order state", Kind: replay.KindState, Database: "orders",
		Query: "SELECT status FROM t_order WHERE order_no = $1", From: []string{"INIT"}, Done: []string{"PAID"},
	},
	{
		Name: "account flow", Kind: replay.KindEffect, Database: "orders",
		Query: "SELECT 1 FROM t_account_flow WHERE biz_no = $1 AND type = 'PAY_DEDUCT'",
	},
}

// office is a service between real Postgres, Redis and RabbitMQ, and the
// consumer's queue on the other side.
type office struct {
	*replay.Service
	options  replay.Options
	pool     *pgxpool.Pool
	business *pgxpool.Pool
	redis    *redis.Client
	vhost    *rabbittest.Vhost
	store    *dlq.Store
	broker   *tap
	registry *prometheus.Registry
	redisURL string
}

// realPublisher is what a tap stands before.
type realPublisher interface {
	Publish(ctx context.Context, m rabbit.Message) error
	BindReplayExchange(ctx context.Context, queue, routingKey string) (string, error)
}

// tap counts what is published, and says something else than the broker where
// a test tells it to.
type tap struct {
	realPublisher
	published atomic.Int32
	instead   func(rabbit.Message) error // nil: the broker
	before    func(rabbit.Message)
	after     func(rabbit.Message)
	binding   func()
}

func (p *tap) Publish(ctx context.Context, m rabbit.Message) error {
	p.published.Add(1)
	if p.instead != nil {
		return p.instead(m)
	}
	if p.before != nil {
		p.before(m)
	}
	err := p.realPublisher.Publish(ctx, m)
	if p.after != nil {
		p.after(m)
	}
	return err
}

func (p *tap) BindReplayExchange(ctx context.Context, queue, routingKey string) (string, error) {
	if p.binding != nil {
		p.binding()
	}
	return p.realPublisher.BindReplayExchange(ctx, queue, routingKey)
}

type change func(*replay.Options)

func withProbes(o *replay.Options)    { o.Plans[0].Guards = probes }
func withFlag(o *replay.Options)      { o.Plans[0].Spaces = []string{"flag"} }
func quick(o *replay.Options)         { o.SettleEvery = 20 * time.Millisecond }
func impatient(o *replay.Options)     { quick(o); o.OutcomeTimeout = 300 * time.Millisecond }
func route(r replay.Route) change     { return func(o *replay.Options) { o.Plans[0].Route = r } }
func clock(c func() time.Time) change { return func(o *replay.Options) { o.Now = c } }

func setUp(t *testing.T, changes ...change) *office {
	t.Helper()
	db, vhost := redistest.New(t), rabbittest.New(t)
	o := &office{
		pool: pgtest.New(t), business: pgtest.Empty(t), redis: db.Client, vhost: vhost, registry: prometheus.NewRegistry(),
		redisURL: db.URL,
	}
	o.store = dlq.NewStore(o.pool)
	o.exec(t, o.business, `
		CREATE TABLE t_order (order_no text PRIMARY KEY, status text NOT NULL);
		CREATE TABLE t_account_flow (biz_no text, type text, CONSTRAINT uk_biz_no_type UNIQUE (biz_no, type))`)
	vhost.Exchange(t, exchange, "direct", nil)
	vhost.Queue(t, work, nil)
	vhost.Bind(t, work, key, exchange)

	real := rabbit.NewPublisher(vhost.URL, t.Name(), nil)
	t.Cleanup(func() { _ = real.Close() })
	o.broker = &tap{realPublisher: real}
	publishers := replay.Publishers(nil)
	publishers["pay"] = o.broker
	o.options = replay.Options{
		Pool: o.pool, Store: o.store, Keys: keys.NewRegistry(db.Client, spaces), Publishers: publishers,
		Databases: map[string]*pgxpool.Pool{"orders": o.business}, Owner: "console-1",
		Metrics: replay.NewMetrics(o.registry, []string{"pay-success"}, []string{"status", "flag"}),
		Plans: []replay.Plan{{
			Source: dlq.Source{Name: "pay-success", Broker: "pay", Queue: "q.terminal"},
			Spaces: []string{"status"}, Broker: "pay",
		}},
	}
	for _, c := range changes {
		c(&o.options)
	}
	o.Service = replay.New(o.options)
	return o
}

// run runs the service's loops until the test ends.
func (o *office) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

func (o *office) exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// letter is a dead letter to be stored as the drain would.
type letter struct {
	key        string
	body       []byte
	headers    rabbit.Table
	properties rabbit.Properties
	state      dlq.State
	queue      string // "-": not known
	quarantine string
}

var deaths atomic.Int64

// ctx is for a process that no test bounds.
func ctx() context.Context { return context.Background() }

// add stores l and returns its id.
func (o *office) add(t *testing.T, l letter) string {
	t.Helper()
	headers, err := rabbit.EncodeHeaders(l.headers)
	if err != nil {
		t.Fatal(err)
	}
	properties, err := rabbit.EncodeProperties(l.properties)
	if err != nil {
		t.Fatal(err)
	}
	if l.body == nil {
		l.body = []byte{}
	}
	if l.state == "" {
		l.state = dlq.Open
	}
	switch l.queue {
	case "":
		l.queue = work
	case "-":
		l.queue = ""
	}
	id, sum := uuid.NewString(), sha256.Sum256(l.body)
	died := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC).Add(time.Duration(deaths.Add(1)) * time.Second)
	o.exec(t, o.pool, `
		INSERT INTO dead_letters (id, source, state, state_changed_at, first_drained_at, business_key, reason,
			original_queue, original_exchange, original_routing_key, died_at, drained_at, body_size, body_sha256, quarantine)
		VALUES ($1, 'pay-success', $2, $3, $3, nullif($4, ''), 'rejected', nullif($5, ''), $6, $7, $3, $3, $8, $9, nullif($10, ''))`,
		id, string(l.state), died, l.key, l.queue, exchange, key, len(l.body), sum[:], l.quarantine)
	o.exec(t, o.pool, `
		INSERT INTO lives (message_id, round, drained_at, died_at, died_at_known, exchange, routing_key, redelivered,
			properties, headers, body, body_is_text, body_size, body_sha256, reason, original_queue)
		VALUES ($1, 1, $2, $2, true, 'ex.dlx', 'dead', false, $3, $4, $5, true, $6, $7, 'rejected', nullif($8, ''))`,
		id, died, properties, headers, l.body, len(l.body), sum[:], l.queue)
	return id
}

// hold acquires a key as if that had been done age ago.
func (o *office) hold(t *testing.T, name, value string, age time.Duration) {
	t.Helper()
	if err := o.redis.Set(t.Context(), name, value, ttl-age).Err(); err != nil {
		t.Fatal(err)
	}
}

// seen reads a key as an operator does.
func (o *office) seen(t *testing.T, name string) replay.Release {
	t.Helper()
	k, err := o.options.Keys.Read(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return replay.Release{Key: name, Seen: k.Seen}
}

func (o *office) request(id string) replay.Request {
	return replay.Request{MessageID: id, Actor: "alice", From: "192.0.2.1", Reason: "bank is back", At: time.Now()}
}

// send replays a message that is expected to be sent.
func (o *office) send(t *testing.T, id string) replay.Result {
	t.Helper()
	result, err := o.Replay(t.Context(), o.request(id))
	if err != nil || result.Attempt != replay.Sent {
		t.Fatalf("replay: %+v, %v, want it sent", result, err)
	}
	return result
}

func (o *office) message(t *testing.T, id string) dlq.Message {
	t.Helper()
	m, err := o.store.Message(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// last returns the newest attempt of a message.
func (o *office) last(t *testing.T, id string) replay.Item {
	t.Helper()
	items, err := o.Attempts(t.Context(), id, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if len(items) == 0 {
		return replay.Item{}
	}
	return items[0]
}

// standing is what a test says of a message and its newest attempt at once.
type standing struct {
	State   dlq.State
	Attempt replay.AttemptState
	Outcome replay.Outcome
	Source  replay.OutcomeSource
}

func (o *office) standing(t *testing.T, id string) standing {
	t.Helper()
	last := o.last(t, id)
	return standing{o.message(t, id).State, last.Attempt, last.Outcome, last.OutcomeSource}
}

func (o *office) expect(t *testing.T, id string, want standing) {
	t.Helper()
	if got := o.standing(t, id); got != want {
		t.Errorf("message stands at %+v, want %+v", got, want)
	}
}

// await waits until a message stands as wanted.
func (o *office) await(t *testing.T, id string, want standing) {
	t.Helper()
	poll.Until(t, patience, func() error {
		if got := o.standing(t, id); got != want {
			return fmt.Errorf("message stands at %+v, want %+v", got, want)
		}
		return nil
	})
}

// tell reports an outcome as the guard package does.
func (o *office) tell(t *testing.T, id string, replayID int64, outcome string) {
	t.Helper()
	err := o.redis.XAdd(t.Context(), &redis.XAddArgs{Stream: keys.OutcomeStream, Values: map[string]any{
		"message_id": id, "replay_id": replayID, "outcome": outcome, "detail": "told", "at": time.Now().UTC().Format(time.RFC3339Nano),
	}}).Err()
	if err != nil {
		t.Fatal(err)
	}
}

func report(id string, replayID int64, outcome string) keys.Report {
	return keys.Report{MessageID: id, ReplayID: fmt.Sprint(replayID), Outcome: outcome, At: time.Now()}
}

// trail returns the results in the audit of one object, oldest first.
func (o *office) trail(t *testing.T, object string) []string {
	t.Helper()
	page, err := audit.NewLog(o.pool).List(t.Context(), audit.Filter{Object: object, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, v := range slices.Backward(page.Entries) {
		results = append(results, v.Act+" "+v.Result)
	}
	return results
}

func (o *office) depth(t *testing.T) int {
	t.Helper()
	return o.vhost.Depth(t, work)
}

// counter returns a counter's value by name and label values.
func (o *office) counter(t *testing.T, name string, labels map[string]string) float64 {
	t.Helper()
	families, err := o.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			have := map[string]string{}
			for _, l := range m.GetLabel() {
				have[l.GetName()] = l.GetValue()
			}
			if f.GetName() == name && maps.Equal(have, labels) {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no series %s%v", name, labels)
	return 0
}

package replay

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// publisher puts one message on its way and returns once it is known what the
// broker did with it (see package rabbit's errors).
type publisher interface {
	Publish(ctx context.Context, m rabbit.Message) error
	// BindReplayExchange makes the console's own exchange for queue and binds it
	// by routingKey.
	BindReplayExchange(ctx context.Context, queue, routingKey string) (exchange string, err error)
}

// Publishers returns all as Options takes them.
func Publishers(all map[string]*rabbit.Publisher) map[string]publisher {
	byBroker := map[string]publisher{}
	for name, p := range all {
		byBroker[name] = p
	}
	return byBroker
}

// Plan is how the messages of one source are replayed.
type Plan struct {
	Source dlq.Source
	Spaces []string // names of the key spaces that its consumer uses
	Guards []Guard
	Route  Route
	Broker string
}

// Options are what a Service stands on.
type Options struct {
	Pool       *pgxpool.Pool
	Store      *dlq.Store
	Keys       *keys.Registry       // nil: no Redis is configured
	Publishers map[string]publisher // by broker
	Management map[string]*rabbit.Management
	Databases  map[string]*pgxpool.Pool // of the business, for probes
	Plans      []Plan
	Owner      string // this console among several
	Metrics    *Metrics
	Log        *slog.Logger
	// OutcomeTimeout is how long an outcome is awaited; longer than the
	// consumer's whole ladder. 0: 15 minutes.
	OutcomeTimeout time.Duration
	// SettleEvery is the pace of the loop that looks for outcomes, and the least
	// time between two looks at the same attempt. 0: 5 seconds.
	SettleEvery time.Duration
	// Lease is how long a claim stands without being renewed. 0: 2 minutes.
	Lease time.Duration
	// Now is the clock for what happens while a replay runs. nil: time.Now.
	Now func() time.Time
}

// Defaults of Options.
const (
	defaultOutcomeTimeout = 15 * time.Minute
	defaultSettleEvery    = 5 * time.Second
	defaultLease          = 2 * time.Minute
)

// Service replays dead letters and follows them.
type Service struct {
	pool       *pgxpool.Pool
	store      *dlq.Store
	keys       *keys.Registry
	publishers map[string]publisher
	management map[string]*rabbit.Management
	databases  map[string]*pgxpool.Pool
	plans      map[string]Plan // by source
	order      []Plan
	owner      string
	metrics    *Metrics
	log        *slog.Logger
	timeout    time.Duration
	every      time.Duration
	lease      time.Duration
	now        func() time.Time
	malformed  int64 // of the reports' loop alone: entries that were noted
}

// New returns a service for o. It needs Pool and Store; Run has to run for
// outcomes to be found and for the claims of a dead console to end.
func New(o Options) *Service {
	s := &Service{
		pool: o.Pool, store: o.Store, keys: o.Keys, publishers: o.Publishers, management: o.Management,
		databases: o.Databases, plans: map[string]Plan{}, order: o.Plans, owner: o.Owner, metrics: o.Metrics, log: o.Log,
		timeout: orDefault(o.OutcomeTimeout, defaultOutcomeTimeout),
		every:   orDefault(o.SettleEvery, defaultSettleEvery),
		lease:   orDefault(o.Lease, defaultLease),
		now:     o.Now,
	}
	for _, p := range o.Plans {
		s.plans[p.Source.Name] = p
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d <= 0 {
		return fallback
	}
	return d
}

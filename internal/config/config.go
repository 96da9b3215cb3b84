// Package config reads the console's settings: the YAML file, over it the
// environment (DLO_…, and DLO_…_FILE for secrets), over that the flags. It
// reports all problems at once, each with the name of the setting, and never
// prints a secret. It opens no connection; cmd/console does.
package config

import (
	"fmt"
	"time"
)

// Config is every setting of the console.
type Config struct {
	Server            Server             `yaml:"server"`
	Environment       Environment        `yaml:"environment"`
	Database          Database           `yaml:"database"`
	Redis             Redis              `yaml:"redis"`
	Brokers           []Broker           `yaml:"brokers"`
	Sources           []Source           `yaml:"sources"`
	KeySpaces         []KeySpace         `yaml:"key_spaces"`
	BusinessDatabases []BusinessDatabase `yaml:"business_databases"`
	DuplicateRatio    DuplicateRatio     `yaml:"duplicate_ratio"`
	Alerts            Alerts             `yaml:"alerts"`
	Auth              Auth               `yaml:"auth"`
	Retention         Retention          `yaml:"retention"`
	Replay            Replay             `yaml:"replay"`
	Display           Display            `yaml:"display"`
	Log               Log                `yaml:"log"`
}

// Server is where the console listens.
type Server struct {
	Listen        string `yaml:"listen"`
	MetricsListen string `yaml:"metrics_listen"`
	BasePath      string `yaml:"base_path"`
	ExternalURL   string `yaml:"external_url"`
	// InsecureListen allows auth.mode none on an address that others reach.
	InsecureListen bool     `yaml:"insecure_listen"`
	Grace          Duration `yaml:"grace"` // how long SIGTERM waits for what is in hand
}

// Environment is the badge on every page.
type Environment struct {
	Name  string `yaml:"name"`
	Color string `yaml:"color"`
}

// Database is the console's own Postgres.
type Database struct {
	URL Secret `yaml:"url"`
}

// Redis is where the consumers keep their idempotency keys.
type Redis struct {
	URLs []Secret `yaml:"urls"`
	Mode string   `yaml:"mode"` // single, sentinel or cluster
}

// Broker is one RabbitMQ virtual host.
type Broker struct {
	Name          string `yaml:"name"`
	URL           Secret `yaml:"url"`
	ManagementURL Secret `yaml:"management_url"`
	// FrameMax is the largest content header (headers and properties of one
	// message) that a drain takes: brokers do not split them.
	FrameMax Size `yaml:"frame_max"`
}

// Source is one terminal queue.
type Source struct {
	Name          string      `yaml:"name"`
	Broker        string      `yaml:"broker"`
	Queue         string      `yaml:"queue"`
	OriginalQueue string      `yaml:"original_queue"` // auto, or a fixed name
	Route         string      `yaml:"route"`          // auto, queue, exchange or replay_exchange
	BusinessKey   []KeyFinder `yaml:"business_key"`
	// FailureHeaders are the headers in which its consumers say why they failed.
	FailureHeaders  FailureHeaders `yaml:"failure_headers,omitempty"`
	IdempotencyKeys []KeyUse       `yaml:"idempotency_keys"`
	Guards          []Guard        `yaml:"guards"`
	RunbookURL      string         `yaml:"runbook_url"`
	// Terminal is auto, which looks at the queue and asks where it may not be
	// terminal, or confirmed, which drains it in any case.
	Terminal string `yaml:"terminal"`
}

// KeyFinder is one place where a business key may stand; one field is set.
type KeyFinder struct {
	Body     string `yaml:"body,omitempty"`
	Header   string `yaml:"header,omitempty"`
	Property string `yaml:"property,omitempty"`
}

// FailureHeaders names the headers in which consumers of one's own making say
// why a message failed; those that they do not write are left out.
type FailureHeaders struct {
	Type    string `yaml:"type,omitempty"`
	Message string `yaml:"message,omitempty"`
	Stack   string `yaml:"stack,omitempty"`
	Retries string `yaml:"retries,omitempty"`
	Queue   string `yaml:"queue,omitempty"`
	Time    string `yaml:"time,omitempty"`
}

// KeyUse names a key space that a source's consumer uses.
type KeyUse struct {
	Space string `yaml:"space"`
}

// Guard is a read-only probe of a business database.
type Guard struct {
	Name     string   `yaml:"name"`
	Kind     string   `yaml:"kind"` // state or effect
	Database string   `yaml:"database"`
	Query    string   `yaml:"query"` // $1 is the business key
	From     []string `yaml:"from,omitempty"`
	Done     []string `yaml:"done,omitempty"`
}

// KeySpace is a family of idempotency keys.
type KeySpace struct {
	Name       string   `yaml:"name"`
	Pattern    string   `yaml:"pattern"` // holds {business_key} once
	Style      string   `yaml:"style"`   // flag, lock, status or hash
	TTL        Duration `yaml:"ttl"`
	StuckAfter Duration `yaml:"stuck_after"`
	// FailedRetakes says that the consumer takes a failed key again.
	FailedRetakes bool `yaml:"failed_retakes,omitempty"`
}

// BusinessDatabase is a database that guards are probed in, read-only.
type BusinessDatabase struct {
	Name string `yaml:"name"`
	URL  Secret `yaml:"url"`
}

// DuplicateRatio is where FIRST and DUPLICATE counts come from.
type DuplicateRatio struct {
	Source string   `yaml:"source"` // redis, prometheus or scrape
	URL    Secret   `yaml:"url,omitempty"`
	Query  string   `yaml:"query,omitempty"`
	URLs   []Secret `yaml:"urls,omitempty"`
}

// Alerts is where alerts go and by which rules they fire.
type Alerts struct {
	Alertmanager Alertmanager `yaml:"alertmanager"`
	Webhooks     Unread       `yaml:"webhooks"`
	Rules        Unread       `yaml:"rules"`
}

// Unread is a list that this version accepts and does not use. It is never
// shown: it may hold secrets.
type Unread []map[string]any

// MarshalYAML shows how many entries there are, and none of them.
func (u Unread) MarshalYAML() (any, error) {
	if len(u) == 0 {
		return []string{}, nil
	}
	return fmt.Sprintf("%d, not shown", len(u)), nil
}

// Alertmanager lists the peers of a cluster.
type Alertmanager struct {
	URLs []Secret `yaml:"urls"`
}

// Auth is how people sign in.
type Auth struct {
	Mode string `yaml:"mode"`
}

// Retention is how long what is closed is kept.
type Retention struct {
	Resolved  Duration `yaml:"resolved"`
	Discarded Duration `yaml:"discarded"`
	Audit     Duration `yaml:"audit"`
}

// Replay is how a replay is followed to its outcome.
type Replay struct {
	// OutcomeTimeout is after which time without evidence an outcome is
	// unconfirmed; it must be longer than the whole retry ladder.
	OutcomeTimeout Duration `yaml:"outcome_timeout"`
}

// Display is how much the pages show.
type Display struct {
	// BodyInline is how much of a body a message's page shows; the download has
	// all of it.
	BodyInline Size `yaml:"body_inline"`
}

// Log is how the console logs.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error
	Format string `yaml:"format"` // text or json
}

// Default returns the settings that hold where nothing else is said.
func Default() Config {
	day := Duration(24 * time.Hour)
	return Config{
		Server: Server{
			Listen: "127.0.0.1:8080", MetricsListen: "127.0.0.1:9464", BasePath: "/",
			ExternalURL: "http://localhost:8080", Grace: Duration(20 * time.Second),
		},
		Environment:    Environment{Name: "default", Color: "grey"},
		Redis:          Redis{Mode: "single"},
		DuplicateRatio: DuplicateRatio{Source: "redis"},
		Auth:           Auth{Mode: "none"},
		Retention:      Retention{Resolved: 30 * day, Discarded: 30 * day, Audit: 400 * day},
		Replay:         Replay{OutcomeTimeout: Duration(30 * time.Minute)},
		Display:        Display{BodyInline: 256 << 10},
		Log:            Log{Level: "info", Format: "text"},
	}
}

// fill puts in what a list's element leaves out.
func (c *Config) fill() {
	for i := range c.Brokers {
		if b := &c.Brokers[i]; b.FrameMax == 0 {
			b.FrameMax = 4 << 20
		}
	}
	for i := range c.Sources {
		s := &c.Sources[i]
		s.OriginalQueue = orElse(s.OriginalQueue, "auto")
		s.Route = orElse(s.Route, "auto")
		s.Terminal = orElse(s.Terminal, "auto")
	}
	for i := range c.KeySpaces {
		k := &c.KeySpaces[i]
		if k.StuckAfter == 0 {
			k.StuckAfter = Duration(5 * time.Minute)
		}
	}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

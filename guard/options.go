package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
)

// Handler does the work of one delivery. It is called from several goroutines
// at once, and again for the same work: what it does must be guarded in its own
// transaction. nil means that the work is done for certain; see the package doc
// for errors. ctx is not cancelled when the consumer is told to stop: what is in
// hand is finished.
type Handler func(ctx context.Context, d amqp.Delivery, businessKey string) error

// Fallback is what to do while Redis does not serve.
type Fallback string

// Fallbacks. For money, FailClosed.
const (
	// FailClosed gives back what is held, stops consuming, and goes on when
	// Redis serves again. No delivery counts as a failed run for it.
	FailClosed Fallback = "closed"
	// FailOpen runs handlers without the key: the handler's own guards must
	// then hold alone.
	FailOpen Fallback = "open"
)

// Options of a Consumer. URL, Queue, Name, BusinessKey, Handle and Ladder are
// required.
type Options struct {
	URL   string // of the broker
	Queue string
	Name  string // of the consumer, in metrics, counters, logs and on the broker

	// BusinessKey finds what the action is known by: the order number, the flow
	// number. The same action must give the same key and another action another
	// one, so it is never the message's id, which a producer that sends twice
	// makes anew. Without a key the message goes to the terminal address.
	BusinessKey func(amqp.Delivery) (string, error)
	Handle      Handler
	// After is for late steps that are not critical, such as a notice to the
	// user. It runs once the delivery is acked, after a success only. Its error
	// is logged and changes nothing; when the process dies first it never runs.
	After func(ctx context.Context, d amqp.Delivery, businessKey string) error

	// Keys is guard 1; nil switches it off, which leaves the handler's guards
	// alone.
	Keys     *Keys
	Fallback Fallback // FailClosed unless said
	// Snapshot is what hash keys keep as their context; nil: nothing.
	Snapshot func(amqp.Delivery) string
	// Redis takes the counters of checks and the reports on replayed messages;
	// nil: neither is written.
	Redis redis.UniversalClient

	Ladder Ladder
	// Guards names the guards that the handler reports with Duplicate and
	// Refused, in the order in which it asks them. They become labels of
	// metrics, so other names are counted as "other".
	Guards []string

	Prefetch    int           // 10 unless said
	Concurrency int           // deliveries handled at once; 5 unless said
	Timeout     time.Duration // of one run; 0: none
	// Tries is how often the handler is run for one delivery before that counts
	// as a failed run; 1 unless said. TryDelay is waited between tries, twice
	// as long each time; a second unless said.
	Tries    int
	TryDelay time.Duration
	// Patience is how long one answer of Redis or the broker is waited for;
	// 5 s unless said.
	Patience time.Duration
	Backoff  Backoff // between tries to reach Redis or the broker; 200 ms to 15 s unless said

	Log        *slog.Logger          // nil: slog.Default
	Registerer prometheus.Registerer // nil: no metrics
	Now        func() time.Time      // nil: time.Now
}

func (o Options) withDefaults() Options {
	setUnlessSaid(&o.Fallback, FailClosed)
	setUnlessSaid(&o.Prefetch, 10)
	setUnlessSaid(&o.Concurrency, 5)
	setUnlessSaid(&o.Ladder.Max, 5)
	setUnlessSaid(&o.Tries, 1)
	setUnlessSaid(&o.TryDelay, time.Second)
	setUnlessSaid(&o.Patience, 5*time.Second)
	setUnlessSaid(&o.Backoff, Backoff{200 * time.Millisecond, 15 * time.Second})
	if o.Prefetch > 0 {
		o.Prefetch = max(o.Prefetch, o.Concurrency)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func setUnlessSaid[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o Options) check() error {
	var errs []error
	for _, required := range []struct {
		name    string
		missing bool
	}{
		{"URL", o.URL == ""},
		{"Queue", o.Queue == ""},
		{"Name", o.Name == ""},
		{"BusinessKey", o.BusinessKey == nil},
		{"Handle", o.Handle == nil},
	} {
		if required.missing {
			errs = append(errs, fmt.Errorf("guard: options: %s is required", required.name))
		}
	}
	if _, err := amqp.ParseURI(o.URL); err != nil && o.URL != "" {
		errs = append(errs, errors.New("guard: options: URL is not a broker's (amqp://user:password@host/vhost)")) // err would tell the password
	}
	if o.Fallback != FailClosed && o.Fallback != FailOpen {
		errs = append(errs, fmt.Errorf("guard: options: unknown fallback %q", o.Fallback))
	}
	if o.Prefetch < 0 || o.Concurrency < 0 || o.Tries < 0 || o.TryDelay < 0 || o.Patience < 0 ||
		o.Timeout < 0 || o.Backoff.Min <= 0 || o.Backoff.Max < o.Backoff.Min {
		errs = append(errs, errors.New("guard: options: a number is below zero, or Backoff.Max below Backoff.Min"))
	}
	return errors.Join(append(errs, o.Ladder.check())...)
}

// BodyField finds the business key in a field of a JSON object, such as
// "orderNo". A number is taken as it is written.
func BodyField(name string) func(amqp.Delivery) (string, error) {
	return func(d amqp.Delivery) (string, error) {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(d.Body, &fields); err != nil {
			return "", errors.New("the body is not a JSON object")
		}
		raw := strings.TrimSpace(string(fields[name]))
		var text string
		if json.Unmarshal([]byte(raw), &text) == nil && raw != "null" {
			return text, nil
		}
		var number json.Number
		if json.Unmarshal([]byte(raw), &number) == nil && raw != "null" {
			return raw, nil
		}
		return "", fmt.Errorf("the body has no text or number in field %q", name)
	}
}

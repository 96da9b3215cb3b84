package dlq

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

func managed(v *rabbittest.Vhost) *rabbit.Management {
	return rabbit.NewManagement(v.ManagementURL, v.URL)
}

func kindsOf(hazards []Hazard) []string {
	var kinds []string
	for _, h := range hazards {
		kinds = append(kinds, h.Kind)
	}
	return kinds
}

func TestHazards(t *testing.T) {
	t.Parallel()
	q := rabbit.QueueFacts{
		DeadLetterExchange: new("dlx"), MessageTTL: new(int64(1)), Consumers: 2, DeliveryLimit: new(int64(20)), OtherConsumers: new(int64(1)),
	}
	if got, want := idsOf(HazardsOf(q)), []string{"dead_letter_exchange=dlx", "message_ttl=1", "delivery_limit=20", "other_consumers"}; !slices.Equal(got, want) {
		t.Errorf("hazards %v, want %v", got, want)
	}
	for name, q := range map[string]rabbit.QueueFacts{
		"a limit that is off":          {DeliveryLimit: new(int64(-1))},
		"consumers that are ours":      {Consumers: 2, OtherConsumers: new(int64(0))},
		"consumers that are not known": {Consumers: 2},
	} {
		if got := HazardsOf(q); got != nil {
			t.Errorf("%s: %v, want none", name, got)
		}
	}
	if id := (Hazard{Kind: WarnDeadLetters}).ID(); id == WarnDeadLetters {
		t.Error("the default exchange as DLX is not told from one without a name")
	}
}

// A queue with an argument that says it is not terminal is not touched before
// somebody confirms it, also after a restart, and then is.
func TestQueueThatMayNotBeTerminalIsDrainedOnceConfirmed(t *testing.T) {
	t.Parallel()
	for kind, args := range map[string]rabbit.Table{
		WarnDeadLetters:   {"x-dead-letter-exchange": "dlx"},
		WarnTTL:           {"x-message-ttl": int32(3_600_000)},
		WarnDeliveryLimit: {"x-queue-type": "quorum", "x-delivery-limit": int32(7)},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			pool, v := pgtest.New(t), rabbittest.New(t)
			v.Queue(t, paySource.Queue, args)
			publish(t, v, "a")
			options := DrainOptions{URL: v.URL, Pool: pool, Management: managed(v)}
			d, stop := running(t, options)
			s := untilState(t, d, SourceBlocked)
			if !slices.Equal(kindsOf(s.Unconfirmed()), []string{kind}) || !slices.Equal(s.Warnings, []string{kind}) || !strings.Contains(s.Why, "confirm it on the Sources page") {
				t.Errorf("status %+v", s)
			}
			stop()
			d, _ = running(t, options)
			untilState(t, d, SourceBlocked)
			if err := stored(t.Context(), pool, 0, 0); err != nil {
				t.Error(err)
			}
			if n := v.Depth(t, paySource.Queue); n != 1 {
				t.Errorf("%d messages ready, want 1: none was asked for", n)
			}

			if err := d.Confirm(t.Context(), []string{"message_ttl=5"}, act); !errors.Is(err, ErrNewHazard) {
				t.Errorf("a confirmation of something else: %v, want ErrNewHazard", err)
			}
			if err := d.Confirm(t.Context(), idsOf(s.Hazards), act); err != nil {
				t.Fatal(err)
			}
			untilStored(t, pool, 1, 0)
			s = untilState(t, d, SourceUp)
			if s.ConfirmedBy != "ada" || !s.ConfirmedAt.Equal(arrival) || len(s.Unconfirmed()) != 0 || !slices.Equal(s.Warnings, []string{kind}) {
				t.Errorf("status %+v, want the warning and who confirmed it", s)
			}
			if err := d.Confirm(t.Context(), nil, act); !errors.Is(err, ErrNothingToConfirm) {
				t.Errorf("the second time: %v, want ErrNothingToConfirm", err)
			}
			if n := number(t, pool, "SELECT count(*) FROM audit WHERE act = 'confirm' AND object = 'source pay' AND actor = 'ada' AND reason LIKE 'because [%'"); n != 1 {
				t.Errorf("%d audit entries, want 1", n)
			}
		})
	}
}

// What the configuration confirms asks nobody.
func TestTerminalByConfiguration(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), rabbittest.New(t)
	v.Queue(t, paySource.Queue, rabbit.Table{"x-message-ttl": int32(3_600_000)})
	publish(t, v, "a")
	source := paySource
	source.Terminal = true
	d, _ := running(t, DrainOptions{Source: source, URL: v.URL, Pool: pool, Management: managed(v)})
	untilStored(t, pool, 1, 0)
	if s := untilState(t, d, SourceUp); !slices.Equal(s.Warnings, []string{WarnTTL}) {
		t.Errorf("warnings %v, want that its messages expire", s.Warnings)
	}
}

// A policy that makes the queue part of a retry loop stops the drain; one that
// differs from what was confirmed asks again; and when it is gone, the drain goes on.
func TestPolicyThatChangesWhileItDrains(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	d, _ := running(t, DrainOptions{URL: v.URL, Pool: pool, Management: managed(v)})
	untilState(t, d, SourceUp)
	policy := func(ttl int) {
		v.Manage(t, http.MethodPut, "/api/policies/"+v.Name+"/p",
			fmt.Sprintf(`{"pattern":".*","definition":{"message-ttl":%d},"apply-to":"queues"}`, ttl))
	}
	waits := func(id string) {
		poll.Until(t, patience, func() error {
			if s := d.Status(); s.State != SourceBlocked || !slices.Equal(idsOf(s.Unconfirmed()), []string{id}) {
				return fmt.Errorf("status %+v, want blocked by %s", s, id)
			}
			return nil
		})
	}

	policy(3_600_000)
	waits("message_ttl=3600000")
	publish(t, v, "a")
	if err := d.Confirm(t.Context(), nil, act); err != nil {
		t.Fatal(err)
	}
	untilStored(t, pool, 1, 0)
	policy(1_800_000)
	waits("message_ttl=1800000")
	publish(t, v, "b")
	v.Manage(t, http.MethodDelete, "/api/policies/"+v.Name+"/p", "")
	untilStored(t, pool, 2, 0)
	untilState(t, d, SourceUp)
}

// consumeElsewhere consumes a queue as another program does, and returns how to
// end that.
func consumeElsewhere(t *testing.T, v *rabbittest.Vhost, queue string, exclusive bool) (end func()) {
	t.Helper()
	conn, err := amqp.Dial(v.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.Qos(1, 0, false); err != nil {
		t.Fatal(err)
	}
	if _, err := ch.Consume(queue, "somebody", false, exclusive, false, false, nil); err != nil {
		t.Fatal(err)
	}
	return func() { conn.Close() }
}

// Another consumer is found out about with and without a management API; other
// consoles are no other consumers.
func TestSomebodyElseConsumesTheQueue(t *testing.T) {
	t.Parallel()
	for _, with := range []string{"with management", "without"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			pool, v := pgtest.New(t), terminal(t)
			options := DrainOptions{URL: v.URL, Pool: pool}
			if with == "with management" {
				options.Management = managed(v)
			}
			end := consumeElsewhere(t, v, paySource.Queue, false)
			d, _ := running(t, options)
			s := untilState(t, d, SourceBlocked)
			if !slices.Contains(kindsOf(s.Unconfirmed()), WarnOtherConsumers) || !strings.Contains(s.Why, "another consumer") {
				t.Errorf("status %+v", s)
			}
			second, _ := running(t, options)
			untilState(t, second, SourceBlocked)
			end()
			untilState(t, d, SourceUp)
			untilState(t, second, SourceUp)
			publish(t, v, "a", "b")
			untilStored(t, pool, 2, 0)
			end = consumeElsewhere(t, v, paySource.Queue, false)
			poll.True(t, patience, "one of them sees the new one", func() bool {
				return d.Status().State == SourceBlocked || second.Status().State == SourceBlocked
			})
			end()
			untilState(t, d, SourceUp)
		})
	}
}

// Where the check was asked for, a source is not drained for the first time
// without it; one that was drained before goes on.
func TestManagementThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	silent := rabbit.NewManagement("http://127.0.0.1:1", v.URL)
	publish(t, v, "a")
	d, stop := running(t, DrainOptions{URL: v.URL, Pool: pool, Management: silent})
	if s := untilState(t, d, SourceBlocked); !slices.Equal(s.Warnings, []string{WarnNotChecked}) || !strings.Contains(s.Why, "management API does not answer") {
		t.Errorf("status %+v", s)
	}
	stop()
	d, stop = running(t, DrainOptions{URL: v.URL, Pool: pool})
	untilStored(t, pool, 1, 0)
	if s := untilState(t, d, SourceUp); !slices.Equal(s.Warnings, []string{WarnNotChecked}) {
		t.Errorf("without a management URL: %v, want the warning that it was not checked", s.Warnings)
	}
	stop()
	publish(t, v, "b")
	d, _ = running(t, DrainOptions{URL: v.URL, Pool: pool, Management: silent})
	untilStored(t, pool, 2, 0)
	if s := untilState(t, d, SourceUp); !slices.Equal(s.Warnings, []string{WarnNotChecked}) || len(s.Hazards) != 0 {
		t.Errorf("a source that was drained before: %+v", s)
	}
}

// The console changes no queue: one that it refuses is as it was, and so is one
// that it has drained.
func TestQueueIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), rabbittest.New(t)
	args := rabbit.Table{"x-message-ttl": int32(3_600_000)}
	v.Queue(t, paySource.Queue, args)
	d, stop := running(t, DrainOptions{URL: v.URL, Pool: pool, Management: managed(v)})
	untilState(t, d, SourceBlocked)
	if err := d.Confirm(t.Context(), nil, act); err != nil {
		t.Fatal(err)
	}
	publish(t, v, "a")
	untilStored(t, pool, 1, 0)
	stop()
	v.Queue(t, paySource.Queue, args) // the broker refuses this where they differ
}

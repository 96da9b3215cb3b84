package replay_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
)

// diary is a log that a test reads while a loop writes it.
type diary struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (d *diary) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(b)
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

func (d *diary) log(o *replay.Options) { o.Log = slog.New(slog.NewTextHandler(d, nil)) }

func (o *office) reportsUp(t *testing.T) bool {
	t.Helper()
	families, err := o.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "dlo_outcome_reports_up" {
			return f.GetMetric()[0].GetGauge().GetValue() == 1
		}
	}
	t.Fatal("no series dlo_outcome_reports_up")
	return false
}

// A cursor beyond the stream's end belongs to a stream that is no more.
func TestReportsOfANewStreamAreRead(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(*testing.T, *office){
		"deleted": func(t *testing.T, o *office) { o.redis.Del(t.Context(), keys.OutcomeStream) },
		"set back, as by a failover": func(t *testing.T, o *office) {
			o.redis.Del(t.Context(), keys.OutcomeStream)
			o.tell(t, "00000000-0000-0000-0000-000000000001", 1, keys.ReportProcessed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &diary{}
			o := setUp(t, quick, d.log)
			id := o.add(t, letter{key: "O1"})
			sent := o.send(t, id)
			far := &redis.XAddArgs{Stream: keys.OutcomeStream, ID: "99999999999999-7", Values: []any{"a", "b"}}
			if err := o.redis.XAdd(t.Context(), far).Err(); err != nil {
				t.Fatal(err)
			}
			o.run(t)
			poll.True(t, patience, "the cursor at the jumped id", func() bool {
				var position string
				_ = o.pool.QueryRow(t.Context(), "SELECT position FROM cursors").Scan(&position)
				return position == far.ID
			})
			after(t, o)
			o.tell(t, id, sent.ReplayID, keys.ReportProcessed)
			o.await(t, id, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromReport})
			if n := strings.Count(d.String(), "read from its start"); n != 1 {
				t.Errorf("logged %d times, want once:\n%s", n, d)
			}
		})
	}
}

func TestReportsThatCannotBeReadAreVisible(t *testing.T) {
	t.Parallel()
	d := &diary{}
	o := setUp(t, quick, d.log)
	id := o.add(t, letter{key: "O1"})
	sent := o.send(t, id)
	if err := o.redis.Set(t.Context(), keys.OutcomeStream, "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	o.run(t)
	poll.True(t, patience, "a warning", func() bool { return strings.Contains(d.String(), "reports cannot be read") })
	if o.reportsUp(t) {
		t.Error("the reports are said to be up while their key is a string")
	}
	o.redis.Del(t.Context(), keys.OutcomeStream)
	poll.True(t, patience, "reports up", func() bool { return o.reportsUp(t) })
	o.tell(t, id, sent.ReplayID, keys.ReportProcessed)
	o.await(t, id, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromReport})
	if n := strings.Count(d.String(), "reports cannot be read"); n != 1 {
		t.Errorf("warned %d times, want once:\n%s", n, d)
	}
}

func TestMalformedReportsAreCountedAndNotQuoted(t *testing.T) {
	t.Parallel()
	d := &diary{}
	o := setUp(t, quick, d.log)
	for i := range 3 {
		junk := &redis.XAddArgs{Stream: keys.OutcomeStream, Values: []any{"message_id", "secret", "n", fmt.Sprint(i)}}
		if err := o.redis.XAdd(t.Context(), junk).Err(); err != nil {
			t.Fatal(err)
		}
	}
	o.run(t)
	poll.True(t, patience, "three counted", func() bool { return o.counter(t, "dlo_outcome_reports_malformed_total", map[string]string{}) == 3 })
	poll.True(t, patience, "a warning with the number", func() bool { return strings.Contains(d.String(), "entries=3") })
	if strings.Contains(d.String(), "secret") {
		t.Errorf("the log quotes a report:\n%s", d)
	}
}

// Reports about others' replays are many where consoles share a Redis: they are
// passed a batch at a time.
func TestManyReportsOfOthersDoNotDelayOurs(t *testing.T) {
	t.Parallel()
	o := setUp(t, quick)
	id := o.add(t, letter{key: "O1"})
	sent := o.send(t, id)
	const many = 20000
	pipe := o.redis.Pipeline()
	for i := range many {
		pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: keys.OutcomeStream, Values: []any{
			"message_id", "00000000-0000-0000-0000-000000000001", "replay_id", i + 1000, "outcome", "duplicate",
		}})
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.tell(t, id, sent.ReplayID, keys.ReportProcessed)
	o.run(t)
	o.await(t, id, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromReport})
}

package replay_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
)

func TestReportsSettleTheOutcome(t *testing.T) {
	t.Parallel()
	paid := func(t *testing.T, o *office) {
		o.exec(t, o.business, "UPDATE t_order SET status = 'PAID'")
		o.exec(t, o.business, "INSERT INTO t_account_flow VALUES ('O1', 'PAY_DEDUCT')")
	}
	nothing := func(*testing.T, *office) {}
	tests := []struct {
		name    string
		changes []change
		work    func(*testing.T, *office) // what the consumer did
		word    string
		want    standing
		detail  string
	}{
		{"processed", nil, nothing, keys.ReportProcessed, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromReport}, "told"},
		{"refused by a guard", nil, nothing, keys.ReportGuardRefused, standing{dlq.Open, replay.Sent, replay.GuardRefused, replay.FromReport}, "told"},
		{"a failed run is on the ladder", nil, nothing, keys.ReportFailed, standing{dlq.Replayed, replay.Sent, replay.Awaited, ""}, replay.DetailRunFailed},
		{"duplicate, nobody can tell", nil, nothing, keys.ReportDuplicate, standing{dlq.Open, replay.Sent, replay.Duplicate, replay.FromReport}, replay.DetailDuplicateNoProbe},
		{"duplicate, and nothing was done", []change{withProbes}, nothing, keys.ReportDuplicate, standing{dlq.Open, replay.Sent, replay.Duplicate, replay.FromReport}, replay.DetailDuplicateNothing},
		{"duplicate of this replay's own work", []change{withProbes}, paid, keys.ReportDuplicate, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromReport}, replay.DetailDuplicateDone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := setUp(t, tt.changes...)
			o.exec(t, o.business, "INSERT INTO t_order VALUES ('O1', 'INIT')")
			id := o.add(t, letter{key: "O1"})
			result := o.send(t, id)
			tt.work(t, o)
			for range 2 { // a report may come twice
				r := report(id, result.ReplayID, tt.word)
				r.Detail = "told"
				if err := o.Report(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				o.expect(t, id, tt.want)
			}
			if got := o.last(t, id).Detail; got != tt.detail {
				t.Errorf("detail is %q, want %q", got, tt.detail)
			}
			if tt.want.Outcome != replay.Awaited {
				labels := map[string]string{"source": "pay-success", "outcome": string(tt.want.Outcome)}
				if n := o.counter(t, "dlo_replay_outcomes_total", labels); n != 1 {
					t.Errorf("counted %v times, want once", n)
				}
			}
		})
	}
}

func TestReportsOfStrangersAreNotFound(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id := o.add(t, letter{key: "O1"})
	result := o.send(t, id)
	other := o.add(t, letter{key: "O2"})
	for name, r := range map[string]keys.Report{
		"another message":  report(other, result.ReplayID, keys.ReportProcessed),
		"another replay":   report(id, result.ReplayID+1, keys.ReportProcessed),
		"not a message":    report("x", result.ReplayID, keys.ReportDuplicate),
		"not an outcome":   report(id, result.ReplayID, "great"),
		"a whole stranger": report("00000000-0000-0000-0000-000000000001", 99, keys.ReportDuplicate),
	} {
		if err := o.Report(t.Context(), r); !errors.Is(err, dlq.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
	o.expect(t, id, standing{dlq.Replayed, replay.Sent, replay.Awaited, ""})
}

func TestReportsAreFollowedFromTheStream(t *testing.T) {
	t.Parallel()
	o := setUp(t, quick)
	first, second := o.add(t, letter{key: "O1"}), o.add(t, letter{key: "O2"})
	one, two := o.send(t, first), o.send(t, second)
	for _, junk := range []map[string]any{{"a": "b"}, {"message_id": first, "replay_id": "x", "outcome": "processed"}} {
		if err := o.redis.XAdd(t.Context(), &redis.XAddArgs{Stream: keys.OutcomeStream, Values: junk}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	o.tell(t, "00000000-0000-0000-0000-000000000001", 1, keys.ReportProcessed) // another console's
	o.tell(t, first, one.ReplayID, keys.ReportProcessed)
	o.run(t)
	o.await(t, first, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromReport})
	o.tell(t, second, two.ReplayID, keys.ReportGuardRefused)
	o.await(t, second, standing{dlq.Open, replay.Sent, replay.GuardRefused, replay.FromReport})
	// The cursor stands at the end: a console that starts now reads nothing twice.
	last := o.redis.XRevRangeN(t.Context(), keys.OutcomeStream, "+", "-", 1).Val()[0].ID
	poll.True(t, patience, "the cursor at the last report", func() bool {
		var position string
		_ = o.pool.QueryRow(t.Context(), "SELECT position FROM cursors").Scan(&position)
		return position == last
	})
}

// The consumer can be faster than the confirm.
func TestReportBeforeTheConfirmIsNotLost(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"confirmed": nil, "confirm lost": rabbit.ErrUnknown} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setUp(t)
			id := o.add(t, letter{key: "O1"})
			o.broker.instead = func(m rabbit.Message) error {
				r := keys.Report{MessageID: id, ReplayID: m.Headers["dlo-replay-id"].(string), Outcome: keys.ReportProcessed}
				if err := o.Report(t.Context(), r); err != nil {
					t.Error(err)
				}
				return answer
			}
			result, err := o.Replay(t.Context(), o.request(id))
			if err != nil || result.Attempt != replay.Sent || result.Outcome != replay.Processed {
				t.Errorf("got %+v, %v, want it sent and processed", result, err)
			}
			o.expect(t, id, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromReport})
		})
	}
}

func TestReportSettlesAnUnknownAttempt(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id := o.add(t, letter{key: "O1"})
	o.broker.instead = func(rabbit.Message) error { return rabbit.ErrUnknown }
	result, err := o.Replay(t.Context(), o.request(id))
	if err != nil || result.Attempt != replay.AttemptUnknown {
		t.Fatalf("got %+v, %v", result, err)
	}
	if err := o.Report(t.Context(), report(id, result.ReplayID, keys.ReportFailed)); err != nil {
		t.Fatal(err)
	}
	o.expect(t, id, standing{dlq.Replayed, replay.Sent, replay.Awaited, ""})
	if err := o.Report(t.Context(), report(id, result.ReplayID, keys.ReportProcessed)); err != nil {
		t.Fatal(err)
	}
	o.expect(t, id, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromReport})
}

func TestTimeoutThenALateReport(t *testing.T) {
	t.Parallel()
	o := setUp(t, impatient)
	id := o.add(t, letter{key: "O1"})
	result := o.send(t, id)
	o.run(t)
	o.await(t, id, standing{dlq.Open, replay.Sent, replay.Unconfirmed, replay.FromTimeout})
	o.tell(t, id, result.ReplayID, keys.ReportProcessed)
	o.await(t, id, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromReport})
}

// A late report of an earlier replay is history; the later one is what counts.
func TestLateReportOfAnEarlierReplayLeavesTheMessage(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id := o.add(t, letter{key: "O1"})
	first := o.send(t, id)
	if err := o.Report(t.Context(), report(id, first.ReplayID, keys.ReportGuardRefused)); err != nil {
		t.Fatal(err)
	}
	o.send(t, id)
	if err := o.Report(t.Context(), report(id, first.ReplayID, keys.ReportProcessed)); err != nil {
		t.Fatal(err)
	}
	o.expect(t, id, standing{dlq.Replayed, replay.Sent, replay.Awaited, ""})
	items, err := o.Attempts(t.Context(), id, 0, 100)
	if err != nil || len(items) != 2 || items[1].Outcome != replay.Processed {
		t.Errorf("attempts: %+v, %v", items, err)
	}
}

func TestSignsOfTheOutcomeWithoutAReport(t *testing.T) {
	t.Parallel()
	t.Run("the key moved", func(t *testing.T) {
		t.Parallel()
		o := setUp(t, quick)
		id := o.add(t, letter{key: "O1"})
		o.send(t, id)
		o.run(t)
		o.hold(t, statusKey, "SUCCESS", 0)
		o.await(t, id, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromKey})
	})
	t.Run("the effect appeared", func(t *testing.T) {
		t.Parallel()
		o := setUp(t, quick, withProbes)
		o.exec(t, o.business, "INSERT INTO t_order VALUES ('O1', 'INIT')")
		id := o.add(t, letter{key: "O1"})
		o.send(t, id)
		o.run(t)
		o.exec(t, o.business, "WITH flow AS (INSERT INTO t_account_flow VALUES ('O1', 'PAY_DEDUCT')) UPDATE t_order SET status = 'PAID'")
		o.await(t, id, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromProbe})
	})
	t.Run("the flag is held since", func(t *testing.T) {
		t.Parallel()
		brief := keys.Space{Name: "flag", Pattern: "mq:consumed:{business_key}", Style: keys.Flag, TTL: ttl, StuckAfter: 50 * time.Millisecond}
		o := setUp(t, quick, withFlag)
		o.options.Keys = keys.NewRegistry(o.redis, []keys.Space{brief})
		o.Service = replay.New(o.options)
		id := o.add(t, letter{key: "O1"})
		o.send(t, id)
		o.run(t)
		o.hold(t, flagKey, "1", 0)
		o.await(t, id, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromInferred})
	})
}

func TestReturnBeatsEverythingHoweverLate(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id := o.add(t, letter{key: "O1"})
	result := o.send(t, id)
	if err := o.Report(t.Context(), report(id, result.ReplayID, keys.ReportProcessed)); err != nil {
		t.Fatal(err)
	}
	note := func(message string, replayID int64) error {
		return pgx.BeginFunc(t.Context(), o.pool, func(tx pgx.Tx) error {
			return o.NoteReturn(t.Context(), tx, message, replayID, time.Now())
		})
	}
	if err := note(id, result.ReplayID); err != nil {
		t.Fatal(err)
	}
	if err := o.Report(t.Context(), report(id, result.ReplayID, keys.ReportProcessed)); err != nil {
		t.Fatal(err)
	}
	last := o.last(t, id)
	if last.Outcome != replay.DeadAgain || last.OutcomeSource != replay.FromDeadLetter {
		t.Errorf("attempt is %+v, want dead again", last)
	}
	for _, stranger := range []struct {
		id     string
		replay int64
	}{{id, result.ReplayID + 1}, {"x", 1}, {"00000000-0000-0000-0000-000000000001", 1}} {
		if err := note(stranger.id, stranger.replay); !errors.Is(err, dlq.ErrNotFound) {
			t.Errorf("%v: %v, want ErrNotFound", stranger, err)
		}
	}
}

func TestSettleAnUnknownAttempt(t *testing.T) {
	t.Parallel()
	act := dlq.Act{Actor: "alice", Reason: "looked at the queue", At: time.Now()}
	for _, sent := range []bool{true, false} {
		o := setUp(t)
		id := o.add(t, letter{key: "O1"})
		o.broker.instead = func(rabbit.Message) error { return rabbit.ErrUnknown }
		result, err := o.Replay(t.Context(), o.request(id))
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Settle(t.Context(), id, sent, act); err != nil {
			t.Fatal(err)
		}
		want, word := standing{dlq.Open, replay.Blocked, "", ""}, replay.DetailSettledNot
		if sent {
			want, word = standing{dlq.Replayed, replay.Sent, replay.Awaited, ""}, replay.DetailSettledSent
		}
		o.expect(t, id, want)
		trail := o.trail(t, "message "+id)
		if last := trail[len(trail)-1]; last != "settle "+word {
			t.Errorf("the audit ends with %q", last)
		}
		if err := o.Settle(t.Context(), id, sent, act); !errors.Is(err, replay.ErrNotUnknown) {
			t.Errorf("a second time: %v, want ErrNotUnknown", err)
		}
		// The operator may have been wrong.
		if err := o.Report(t.Context(), report(id, result.ReplayID, keys.ReportProcessed)); err != nil {
			t.Fatal(err)
		}
		o.expect(t, id, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromReport})
		if err := o.Settle(t.Context(), "x", sent, act); !errors.Is(err, dlq.ErrNotFound) {
			t.Errorf("no such message: %v", err)
		}
	}
}

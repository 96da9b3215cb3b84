package replay_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// A message that the broker gave back, refused or never got can have been
// worked on by nobody: a report cannot close it. The dead letter itself can.
func TestReportCannotTurnWhatWasNeverSentIntoDone(t *testing.T) {
	t.Parallel()
	for answer, state := range map[error]replay.AttemptState{
		rabbit.ErrReturned: replay.Returned, rabbit.ErrRefused: replay.Refused,
		rabbit.ErrBlocked: replay.Blocked, rabbit.ErrUnavailable: replay.Blocked,
	} {
		t.Run(answer.Error(), func(t *testing.T) {
			t.Parallel()
			o := setUp(t, quick)
			id := o.add(t, letter{key: "O1"})
			o.broker.instead = func(rabbit.Message) error { return answer }
			result, err := o.Replay(t.Context(), o.request(id))
			if err != nil || result.Attempt != state {
				t.Fatalf("replay: %+v, %v", result, err)
			}
			for _, word := range []string{keys.ReportProcessed, keys.ReportDuplicate, keys.ReportGuardRefused, keys.ReportFailed} {
				if err := o.Report(t.Context(), report(id, result.ReplayID, word)); !errors.Is(err, dlq.ErrBadState) {
					t.Errorf("report %s: %v, want ErrBadState", word, err)
				}
				o.expect(t, id, standing{dlq.Open, state, "", ""})
			}
			// In the stream it stops none of those behind it.
			o.broker.instead = nil
			other := o.add(t, letter{key: "O2"})
			sent := o.send(t, other)
			o.tell(t, id, result.ReplayID, keys.ReportProcessed)
			o.tell(t, other, sent.ReplayID, keys.ReportProcessed)
			o.run(t)
			o.await(t, other, standing{dlq.Resolved, replay.Sent, replay.Processed, replay.FromReport})
			o.expect(t, id, standing{dlq.Open, state, "", ""})
			err = pgx.BeginFunc(t.Context(), o.pool, func(tx pgx.Tx) error {
				return o.NoteReturn(t.Context(), tx, id, result.ReplayID, time.Now())
			})
			if got := o.last(t, id); err != nil || got.Outcome != replay.DeadAgain {
				t.Errorf("the dead letter itself: %+v, %v", got, err)
			}
		})
	}
}

// The attempt that was sent is the one that counts, also when a later one came
// to nothing.
func TestLateReportResolvesAlthoughALaterAttemptSentNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer error
		want   dlq.State
	}{
		"returned": {rabbit.ErrReturned, dlq.Resolved}, "refused": {rabbit.ErrRefused, dlq.Resolved},
		"blocked": {rabbit.ErrBlocked, dlq.Resolved}, "unknown": {rabbit.ErrUnknown, dlq.Replaying}, "sent": {nil, dlq.Replayed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setUp(t)
			id := o.add(t, letter{key: "O1"})
			first := o.send(t, id)
			if err := o.Report(t.Context(), report(id, first.ReplayID, keys.ReportDuplicate)); err != nil { // open again
				t.Fatal(err)
			}
			o.broker.instead = func(rabbit.Message) error { return tt.answer }
			if _, err := o.Replay(t.Context(), o.request(id)); err != nil {
				t.Fatal(err)
			}
			if err := o.Report(t.Context(), report(id, first.ReplayID, keys.ReportProcessed)); err != nil {
				t.Fatal(err)
			}
			if got := o.message(t, id).State; got != tt.want {
				t.Errorf("the message is %s, want %s", got, tt.want)
			}
		})
	}
}

// The report can also come while the later attempt is under way.
func TestReportWhileALaterAttemptIsUnderWayIsNotForgotten(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id := o.add(t, letter{key: "O1"})
	first := o.send(t, id)
	if err := o.Report(t.Context(), report(id, first.ReplayID, keys.ReportDuplicate)); err != nil {
		t.Fatal(err)
	}
	o.broker.instead = func(rabbit.Message) error {
		if err := o.Report(t.Context(), report(id, first.ReplayID, keys.ReportProcessed)); err != nil {
			t.Error(err)
		}
		return rabbit.ErrReturned
	}
	if _, err := o.Replay(t.Context(), o.request(id)); err != nil {
		t.Fatal(err)
	}
	o.expect(t, id, standing{dlq.Resolved, replay.Returned, "", ""})
}

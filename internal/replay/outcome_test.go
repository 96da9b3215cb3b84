package replay

import (
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

func TestBetterOutcomeReplacesWorse(t *testing.T) {
	t.Parallel()
	ladder := []struct {
		outcome Outcome
		source  OutcomeSource
	}{
		{Awaited, ""},
		{Unconfirmed, FromTimeout},
		{Processed, FromInferred},
		{Duplicate, FromReport},
		{Processed, FromKey},
		{Processed, FromReport},
		{DeadAgain, FromDeadLetter},
	}
	for i, old := range ladder {
		for j, found := range ladder {
			f := finding{outcome: found.outcome, source: found.source}
			if got := f.replaces(attempt{outcome: old.outcome, source: old.source}); got != (j > i) {
				t.Errorf("%s by %s after %s by %s: replaces is %v", found.outcome, found.source, old.outcome, old.source, got)
			}
		}
	}
}

func TestNextStateOfTheMessage(t *testing.T) {
	t.Parallel()
	newest := attempt{round: 1, newest: true}
	tests := []struct {
		name    string
		state   dlq.State
		round   int
		a       attempt
		outcome Outcome
		want    dlq.State // "": it stays
	}{
		{"processed", dlq.Replayed, 1, newest, Processed, dlq.Resolved},
		{"processed before the confirm", dlq.Replaying, 1, newest, Processed, dlq.Resolved},
		{"processed after the timeout", dlq.Open, 1, newest, Processed, dlq.Resolved},
		{"processed, said twice", dlq.Resolved, 1, newest, Processed, ""},
		{"duplicate", dlq.Replayed, 1, newest, Duplicate, dlq.Open},
		{"refused by a guard", dlq.Replayed, 1, newest, GuardRefused, dlq.Open},
		{"unconfirmed", dlq.Replayed, 1, newest, Unconfirmed, dlq.Open},
		{"inferred, and then a consumer says duplicate", dlq.Resolved, 1, newest, Duplicate, dlq.Open},
		{"a failed run before the confirm", dlq.Replaying, 1, newest, Awaited, dlq.Replayed},
		{"a failed run after it", dlq.Replayed, 1, newest, Awaited, ""},
		{"dead again is the drain's", dlq.Replayed, 1, newest, DeadAgain, ""},
		{"the message died again since", dlq.Open, 2, newest, Processed, ""},
		{"a later attempt is on its way", dlq.Replayed, 1, attempt{round: 1}, Processed, ""},
		{"discarded meanwhile", dlq.Discarded, 1, newest, Processed, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, moves := nextState(lockedMessage{state: tt.state, round: tt.round}, tt.a, tt.outcome)
			if moves != (tt.want != "") || (moves && got != tt.want) {
				t.Errorf("got %q, %v, want %q", got, moves, tt.want)
			}
		})
	}
}

func TestReportsMean(t *testing.T) {
	t.Parallel()
	tests := []struct {
		word   string
		effect happening
		want   Outcome
		detail string
	}{
		{keys.ReportProcessed, cannotTell, Processed, "said"},
		{keys.ReportGuardRefused, cannotTell, GuardRefused, "said"},
		{keys.ReportFailed, cannotTell, Awaited, DetailRunFailed},
		{keys.ReportDuplicate, happened, Processed, DetailDuplicateDone},
		{keys.ReportDuplicate, nothingHappened, Duplicate, DetailDuplicateNothing},
		{keys.ReportDuplicate, cannotTell, Duplicate, DetailDuplicateNoProbe},
	}
	for _, tt := range tests {
		f := fromReport(keys.Report{Outcome: tt.word, Detail: "said"}, tt.effect, readAt)
		if f.outcome != tt.want || f.detail != tt.detail || f.source != FromReport {
			t.Errorf("%s with effect %d: %+v, want %s (%s)", tt.word, tt.effect, f, tt.want, tt.detail)
		}
	}
}

func TestJudgeTakesOnlyWhatMoved(t *testing.T) {
	t.Parallel()
	beforeKey := func(s keys.State) snapshot {
		return snapshot{Guards: []GuardAnswer{{Kind: KindKey, Key: "k", State: string(s), Says: SaysPasses}}}
	}
	effectBefore := snapshot{Guards: []GuardAnswer{{Kind: KindEffect, Says: SaysSkips}}}
	at := func(k KeyReading) Evidence { return Evidence{BusinessKey: "O1", Keys: []KeyReading{k}, At: readAt} }
	probed := func(s StateClass, f EffectReading) Evidence {
		return Evidence{BusinessKey: "O1", State: StateReading{Name: "s", Class: s}, Effect: f, At: readAt}
	}
	withKey := func(e Evidence, k KeyReading) Evidence {
		e.Keys = []KeyReading{k}
		return e
	}
	tests := []struct {
		name   string
		before snapshot
		now    Evidence
		since  time.Duration // the publish
		want   OutcomeSource // "": no sign yet
	}{
		{"key moved to succeeded", beforeKey(keys.Absent), at(held(keys.Succeeded, 0)), time.Second, FromKey},
		{"key moved from processing", beforeKey(keys.Processing), at(held(keys.Succeeded, 0)), time.Second, FromKey},
		{"key had succeeded before", beforeKey(keys.Succeeded), at(held(keys.Succeeded, 0)), time.Hour, ""},
		{"key still processing", beforeKey(keys.Absent), at(held(keys.Processing, 0)), time.Hour, ""},
		{"effect appeared", snapshot{}, probed(StateNotProbed, there), time.Second, FromProbe},
		{"effect and state", snapshot{}, probed(StateDone, there), time.Second, FromProbe},
		{"state moved to done", snapshot{}, probed(StateDone, notAsked), time.Second, FromProbe},
		{"effect was there before", effectBefore, probed(StateNotProbed, there), time.Hour, ""},
		{"half of it", snapshot{}, probed(StateFrom, there), time.Hour, ""},
		{"nothing happened", snapshot{}, probed(StateFrom, missing), time.Hour, ""},
		{"flag held since the settling time", beforeKey(keys.Absent), at(held(keys.Held, 0)), older, FromInferred},
		{"flag held, too early to say", beforeKey(keys.Absent), at(held(keys.Held, 0)), limit, ""},
		{"flag was held before", beforeKey(keys.Held), at(held(keys.Held, 0)), older, ""},
		{"flag held, but the probes say that nothing happened", beforeKey(keys.Absent), withKey(probed(StateFrom, missing), held(keys.Held, 0)), older, ""},
		{"redis down", beforeKey(keys.Absent), at(broken(keys.ErrUnavailable)), time.Hour, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, found := judge(tt.before, tt.now, readAt.Add(-tt.since))
			if found != (tt.want != "") || f.source != tt.want {
				t.Fatalf("got %+v, %v, want %q", f, found, tt.want)
			}
			if found && f.outcome != Processed {
				t.Errorf("outcome is %s, want processed", f.outcome)
			}
		})
	}
}

package replay

import (
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// Details that the console itself gives an outcome; pages turn them into
// sentences.
const (
	DetailDuplicateDone    = "duplicate_with_effect"    // this replay's own work, acked twice
	DetailDuplicateNothing = "duplicate_without_effect" // acked, and the work was not done
	DetailDuplicateNoProbe = "duplicate_unproven"       // acked; nobody can say whether the work was done
	DetailKeySucceeded     = "key_succeeded"
	DetailEffectThere      = "effect_there"
	DetailStateDone        = "state_done"
	DetailHeldSince        = "key_held_since" // it was absent before and has been held ever since
	DetailTimeout          = "no_sign_in_time"
	DetailRunFailed        = "run_failed" // on the consumer's ladder
	DetailBackDead         = "back_dead"
	DetailSettledSent      = "settled_as_sent"
	DetailSettledNot       = "settled_as_not_sent"
	DetailLeaseUnknown     = "console_died_while_sending"
	DetailLeaseReleasing   = "console_died_releasing" // before sending; keys may have been released
	DetailLeaseNothing     = "console_died_before_sending"
)

// operatorOfConsole acts where no operator does.
const operatorOfConsole = "console"

// finding is what somebody learned about a sent attempt.
type finding struct {
	outcome Outcome // Awaited: it was sent, and no more is known
	source  OutcomeSource
	detail  string
	at      time.Time // when it was learned here; other clocks are not trusted
}

// weight ranks what is known of an outcome: a finding only replaces one of
// less weight. A dead letter proves most, however late. A consumer's word that
// it did the work, or a key or a probe that moved, beats its word that it did
// not, since the redelivery of work that was done says duplicate; an inference
// is less than a word; and no sign at all is the least.
func weight(o Outcome, source OutcomeSource) int {
	switch {
	case o == DeadAgain:
		return 6
	case o == Processed && source == FromReport:
		return 5
	case o == Processed && source != FromInferred:
		return 4
	case o == Duplicate, o == GuardRefused:
		return 3
	case o == Processed:
		return 2
	case o == Unconfirmed:
		return 1
	}
	return 0
}

// replaces reports whether f is worth more than what a has.
func (f finding) replaces(a attempt) bool {
	return weight(f.outcome, f.source) > weight(a.outcome, a.source)
}

// nextState says where a message goes when one of its attempts has the outcome
// o; false where it stays. Only the newest attempt of the life that the message
// is in moves it: an older one is history.
func nextState(m lockedMessage, a attempt, o Outcome) (dlq.State, bool) {
	if !a.newest || m.round != a.round || m.state == dlq.Discarded {
		return "", false
	}
	switch o {
	case Awaited:
		return dlq.Replayed, m.state == dlq.Replaying
	case Processed:
		return dlq.Resolved, m.state != dlq.Resolved
	case Duplicate, GuardRefused, Unconfirmed:
		return dlq.Open, m.state != dlq.Open
	}
	return "", false // dead again: the drain that stores the new life moves it
}

// fromReport says what a consumer's report means. effect is what the probes
// say now; it is looked at for duplicates only.
func fromReport(r keys.Report, effect happening, now time.Time) finding {
	f := finding{outcome: Awaited, source: FromReport, detail: clean(r.Detail), at: now}
	switch r.Outcome {
	case keys.ReportProcessed:
		f.outcome = Processed
	case keys.ReportGuardRefused:
		f.outcome = GuardRefused
	case keys.ReportFailed:
		f.detail = DetailRunFailed
	case keys.ReportDuplicate:
		switch effect {
		case happened:
			f.outcome, f.detail = Processed, DetailDuplicateDone
		case nothingHappened:
			f.outcome, f.detail = Duplicate, DetailDuplicateNothing
		default:
			f.outcome, f.detail = Duplicate, DetailDuplicateNoProbe
		}
	}
	return f
}

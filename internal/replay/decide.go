package replay

import (
	"errors"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// Why a verdict was reached.
const (
	WhyRedis            = "redis_unavailable"
	WhyProbe            = "probe_failed"
	WhyUnreadable       = "key_unreadable"
	WhyNoBusinessKey    = "no_business_key"
	WhyEffectAndState   = "effect_and_state"        // both say done
	WhyEffect           = "effect_there"            // no state is probed
	WhyStateDone        = "state_done"              // no effect is probed
	WhyEffectNoState    = "effect_without_state"    // the effect is there, the state has not moved
	WhyStateNoEffect    = "state_without_effect"    // the state says done, the effect is missing
	WhyStateOther       = "state_other"             // neither from nor done
	WhyNoRow            = "no_row"                  // the business database has no such row
	WhyStateFrom        = "state_from"              // the guard lets the order pass
	WhyNoEffect         = "no_effect"               // nothing happened yet
	WhyNoKeySpace       = "no_key_space"            // the source has no idempotency key
	WhyAbsent           = "key_absent"              // only the other two guards protect this replay
	WhyFailedRetaken    = "key_failed_retaken"      // the consumer takes a failed key again
	WhyProcessingYoung  = "key_processing"          // younger than the limit
	WhyHeldYoung        = "key_held_young"          // younger than the limit, and nothing happened yet
	WhyAgeUnknown       = "key_age_unknown"         // in doubt it is taken for running
	WhyStuck            = "key_stuck"               // processing for longer than the limit
	WhyStuckUnacked     = "key_stuck_while_unacked" // likewise, but consumers hold deliveries: look twice
	WhyFailedBlocks     = "key_failed_blocks"       // the consumer does not take a failed key again
	WhyHeldStale        = "key_held_stale"          // held for longer than the limit, and nothing happened
	WhyHeldStaleUnacked = "key_held_while_unacked"  // likewise, but consumers hold deliveries: look twice
	WhySucceeded        = "key_succeeded"           // the consumer will ack without working
	WhySucceededNothing = "key_succeeded_nothing"   // the key says done, the probes say that nothing happened
	WhyKeyDone          = "key_done"                // the key says done; the business database decides
	WhyKeyHeld          = "key_held"                // it is there and says no more; the business database decides
	WhyHeldNoProbes     = "key_held_no_probes"      // only a human can tell
)

// consents says what each verdict asks for.
var consents = map[Verdict]Consent{
	Unknown: SentNever, NoKey: SentOverride, AlreadyEffected: SentOverride, Inconsistent: SentNever,
	RefusedByState: SentOverride, WillRun: SentFreely, InProgress: SentOverride, StaleKey: SentReleased,
	WillSkip: SentOverride, Unproven: SentReleased,
}

// ConsentFor returns what v asks for before a message is sent; a verdict that
// is none of the constants is never sent.
func ConsentFor(v Verdict) Consent {
	if c, ok := consents[v]; ok {
		return c
	}
	return SentNever
}

// Decide says what a replay will meet: the table of product.md, "Preflight
// verdicts", from top to bottom. Over several keys the one that blocks most
// decides. It looks at nothing but e.
//
// How many deliveries the consumers hold (e.Unacked) never changes the
// verdict: none is one more sign that a stuck key's consumer is dead, some
// prove nothing. The reason says which it was.
func Decide(e Evidence) Decision {
	if d, ok := unanswered(e); ok {
		return d
	}
	if e.BusinessKey == "" {
		return Decision{NoKey, WhyNoBusinessKey, -1}
	}
	if d, ok := decideBusiness(e.State, e.Effect); ok {
		return d
	}
	worst := Decision{WillRun, WhyNoKeySpace, -1}
	for i, r := range e.Keys {
		d := decideKey(r, e)
		d.Stops = i
		if worst.Stops == -1 || blocking[d.Verdict] > blocking[worst.Verdict] {
			worst = d
		}
	}
	if worst.Verdict == WillRun {
		worst.Stops = -1
	}
	return worst
}

// blocking ranks the verdicts that a key can give.
var blocking = map[Verdict]int{WillRun: 0, StaleKey: 1, Unproven: 2, InProgress: 3, WillSkip: 4, Inconsistent: 5}

// unanswered is the first row: somebody did not answer, or not understandably.
func unanswered(e Evidence) (Decision, bool) {
	for i, r := range e.Keys {
		switch {
		case r.Err != nil && !errors.Is(r.Err, keys.ErrNoSpace):
			return Decision{Unknown, WhyRedis, i}, true
		case r.Err != nil, r.Key.State == keys.Unreadable:
			return Decision{Unknown, WhyUnreadable, i}, true
		}
	}
	if e.State.Err != nil || e.Effect.Err != nil {
		return Decision{Unknown, WhyProbe, -1}, true
	}
	return Decision{}, false
}

// decideBusiness is what the business database alone decides: it knows better
// than any key whether the work was done.
func decideBusiness(s StateReading, f EffectReading) (Decision, bool) {
	there, missing := f.Probed && f.There, f.Probed && !f.There
	switch {
	case there && s.Class == StateDone:
		return Decision{AlreadyEffected, WhyEffectAndState, -1}, true
	case there && s.Class == StateNotProbed:
		return Decision{AlreadyEffected, WhyEffect, -1}, true
	case there && s.Class == StateFrom:
		return Decision{Inconsistent, WhyEffectNoState, -1}, true
	case missing && s.Class == StateDone:
		return Decision{Inconsistent, WhyStateNoEffect, -1}, true
	case s.Class == StateDone:
		return Decision{AlreadyEffected, WhyStateDone, -1}, true
	case s.Class == StateOther:
		return Decision{RefusedByState, WhyStateOther, -1}, true
	case s.Class == StateNoRow:
		return Decision{RefusedByState, WhyNoRow, -1}, true
	}
	return Decision{}, false
}

// decideKey is what one readable key decides where the business database does
// not: then, if it was probed at all, nothing happened yet.
func decideKey(r KeyReading, e Evidence) Decision {
	probed := e.probed()
	switch r.Key.State {
	case keys.Absent:
		return Decision{WillRun, WhyAbsent, 0}
	case keys.Failed:
		if r.Space.FailedRetakes {
			return Decision{WillRun, WhyFailedRetaken, 0}
		}
		return Decision{StaleKey, WhyFailedBlocks, 0}
	case keys.Processing:
		if r.Key.Stuck(r.Space) {
			return Decision{StaleKey, either(e.held(), WhyStuckUnacked, WhyStuck), 0}
		}
		return Decision{InProgress, youngOr(r.Key, WhyProcessingYoung), 0}
	case keys.Succeeded:
		if probed {
			return Decision{Inconsistent, WhySucceededNothing, 0}
		}
		return Decision{WillSkip, WhySucceeded, 0}
	case keys.Held:
		return decideHeld(r, e, probed)
	}
	return Decision{Unknown, WhyUnreadable, 0}
}

func decideHeld(r KeyReading, e Evidence, probed bool) Decision {
	switch {
	case !probed:
		return Decision{Unproven, WhyHeldNoProbes, 0}
	case r.Key.Older(r.Space):
		return Decision{StaleKey, either(e.held(), WhyHeldStaleUnacked, WhyHeldStale), 0}
	}
	return Decision{InProgress, youngOr(r.Key, WhyHeldYoung), 0}
}

// held reports that consumers of the original queue are known to hold
// deliveries.
func (e Evidence) held() bool { return e.Unacked != nil && *e.Unacked > 0 }

func youngOr(k keys.Key, young string) string {
	_, known := k.Age()
	return either(known, young, WhyAgeUnknown)
}

func either(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

// without returns e as it would be with the named keys gone.
func (e Evidence) without(gone map[string]bool) Evidence {
	left := make([]KeyReading, len(e.Keys))
	for i, r := range e.Keys {
		if gone[r.Key.Name] && r.Err == nil {
			r.Key = keys.Key{Name: r.Key.Name, Space: r.Key.Space, Type: "none", State: keys.Absent, ReadAt: r.Key.ReadAt}
		}
		left[i] = r
	}
	e.Keys = left
	return e
}

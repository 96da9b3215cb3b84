package replay

import (
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// What a guard says about a message.
const (
	SaysPasses   = "passes"   // it lets the message through
	SaysBlocks   = "blocks"   // another run holds the key, or a failed one blocks it
	SaysSkips    = "skips"    // the work is done: the consumer would ack and do nothing
	SaysRefuses  = "refuses"  // the order's state does not allow the work
	SaysUnproven = "unproven" // it cannot tell
	SaysUnknown  = "unknown"  // it did not answer, or not understandably
)

// GuardAnswer is what one of the three guards says.
type GuardAnswer struct {
	Name      string         `json:"name"` // the key space's or the probe's
	Kind      string         `json:"kind"` // key, state or effect
	Says      string         `json:"says"` // one of the Says constants
	Key       string         `json:"key,omitempty"`
	State     string         `json:"state,omitempty"` // of the key or the order, as it is kept
	Age       *time.Duration `json:"age,omitempty"`
	AgeSource string         `json:"age_source,omitempty"`
	TTL       *time.Duration `json:"ttl,omitempty"`     // nil: it never goes away by itself, or is not there
	Evidence  string         `json:"evidence"`          // one of the Why constants
	Seen      string         `json:"-"`                 // the token of the key's reading
	Problem   string         `json:"problem,omitempty"` // why it did not answer
}

// answers puts e in words, guard by guard.
func answers(e Evidence) []GuardAnswer {
	var all []GuardAnswer
	for _, r := range e.Keys {
		all = append(all, keyAnswer(r, e))
	}
	if e.State.Name != "" {
		all = append(all, stateAnswer(e.State))
	}
	if e.Effect.Probed {
		all = append(all, effectAnswer(e.Effect))
	}
	return all
}

var keySays = map[Verdict]string{
	WillRun: SaysPasses, InProgress: SaysBlocks, StaleKey: SaysBlocks,
	WillSkip: SaysSkips, Inconsistent: SaysSkips, Unproven: SaysUnproven, Unknown: SaysUnknown,
}

func keyAnswer(r KeyReading, e Evidence) GuardAnswer {
	a := GuardAnswer{Name: r.Space.Name, Kind: KindKey, Key: r.Key.Name, State: string(r.Key.State)}
	if r.Err != nil {
		a.Says, a.Evidence, a.Problem = SaysUnknown, WhyRedis, clean(r.Err.Error())
		return a
	}
	a.Says, a.Evidence = keyWord(r, e)
	a.Seen = r.Key.Seen
	if age, known := r.Key.Age(); known {
		a.Age, a.AgeSource = &age, r.Key.SinceFrom
	}
	if !r.Key.ExpiresAt.IsZero() && r.Key.State != keys.Absent {
		left := r.Key.ExpiresAt.Sub(r.Key.ReadAt)
		a.TTL = &left
	}
	return a
}

// keyWord is what one readable key says. decideKey takes for granted that
// nothing happened yet; where the business database says otherwise, or did not
// answer, the key is only heard, and nothing is concluded from it.
func keyWord(r KeyReading, e Evidence) (says, why string) {
	_, decided := decideBusiness(e.State, e.Effect)
	if decided || e.State.Err != nil || e.Effect.Err != nil {
		switch r.Key.State {
		case keys.Succeeded:
			return SaysSkips, WhyKeyDone
		case keys.Held:
			return SaysUnproven, WhyKeyHeld
		}
	}
	d := decideKey(r, e)
	return keySays[d.Verdict], d.Why
}

func stateAnswer(s StateReading) GuardAnswer {
	a := GuardAnswer{Name: s.Name, Kind: KindState, State: clean(s.Value)}
	switch {
	case s.Err != nil:
		a.Says, a.Evidence, a.Problem = SaysUnknown, WhyProbe, clean(s.Err.Error())
	case s.Class == StateFrom:
		a.Says, a.Evidence = SaysPasses, WhyStateFrom
	case s.Class == StateDone:
		a.Says, a.Evidence = SaysSkips, WhyStateDone
	case s.Class == StateNoRow:
		a.Says, a.Evidence = SaysRefuses, WhyNoRow
	default:
		a.Says, a.Evidence = SaysRefuses, WhyStateOther
	}
	return a
}

func effectAnswer(f EffectReading) GuardAnswer {
	a := GuardAnswer{Name: f.Name, Kind: KindEffect}
	switch {
	case f.Err != nil:
		a.Says, a.Evidence, a.Problem = SaysUnknown, WhyProbe, clean(f.Err.Error())
	case f.There:
		a.Says, a.Evidence = SaysSkips, WhyEffect
	default:
		a.Says, a.Evidence = SaysPasses, WhyNoEffect
	}
	return a
}

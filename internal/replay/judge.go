package replay

import (
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// happening is what the business database says about the work.
type happening int

const (
	cannotTell happening = iota // no probe, or one that did not answer, or a contradiction
	nothingHappened
	happened
)

// happening reads the probes of e.
func (e Evidence) happening() happening {
	if e.State.Err != nil || e.Effect.Err != nil || !e.probed() {
		return cannotTell
	}
	d, decided := decideBusiness(e.State, e.Effect)
	switch {
	case !decided:
		return nothingHappened
	case d.Verdict == AlreadyEffected:
		return happened
	case d.Verdict == RefusedByState && !e.Effect.There:
		return nothingHappened
	}
	return cannotTell
}

// judge looks for signs of an outcome: what the guards said just before the
// publish against what they say now. False: none yet. It never takes for moved
// what stood there before.
func judge(before snapshot, now Evidence, sentAt time.Time) (finding, bool) {
	f := finding{outcome: Processed, at: now.At}
	for _, r := range now.Keys {
		if r.Err == nil && r.Key.State == keys.Succeeded && before.keyState(r.Key.Name) != keys.Succeeded {
			f.source, f.detail = FromKey, DetailKeySucceeded
			return f, true
		}
	}
	if now.happening() == happened && !before.happened() {
		f.source, f.detail = FromProbe, DetailEffectThere
		if !now.Effect.There {
			f.detail = DetailStateDone
		}
		return f, true
	}
	if now.probed() {
		return finding{}, false // the probes can tell, and do not yet
	}
	for _, r := range now.Keys {
		absentBefore := before.keyState(r.Key.Name) == keys.Absent
		if r.Err == nil && absentBefore && r.Key.State == keys.Held && now.At.Sub(sentAt) > r.Space.StuckAfter {
			f.source, f.detail = FromInferred, DetailHeldSince
			return f, true
		}
	}
	return finding{}, false
}

// keyState returns what a key said before the publish, "" where it was not read.
func (b snapshot) keyState(key string) keys.State {
	for _, g := range b.Guards {
		if g.Kind == KindKey && g.Key == key {
			return keys.State(g.State)
		}
	}
	return ""
}

// happened reports that a probe said already before the publish that the work
// was done.
func (b snapshot) happened() bool {
	for _, g := range b.Guards {
		if g.Kind != KindKey && g.Says == SaysSkips {
			return true
		}
	}
	return false
}

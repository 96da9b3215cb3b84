package replay

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

var readAt = time.Date(2026, 3, 1, 3, 10, 0, 0, time.UTC)

// held is a reading of a key that was acquired age ago.
func held(state keys.State, age time.Duration) KeyReading {
	return KeyReading{
		Space: keys.Space{Name: "pay", StuckAfter: 5 * time.Minute},
		Key:   keys.Key{Name: "k", State: state, Since: readAt.Add(-age), ReadAt: readAt},
	}
}

func ageless(state keys.State) KeyReading {
	r := held(state, 0)
	r.Key.Since = time.Time{}
	return r
}

func retaken(r KeyReading) KeyReading {
	r.Space.FailedRetakes = true
	return r
}

func broken(err error) KeyReading { return KeyReading{Err: err} }

const (
	young = 4*time.Minute + 59*time.Second
	limit = 5 * time.Minute
	older = 5*time.Minute + time.Second
)

// effects are the three answers of an effect probe.
var (
	notAsked = EffectReading{}
	there    = EffectReading{Name: "flow", Probed: true, There: true}
	missing  = EffectReading{Name: "flow", Probed: true}
)

// TestDecideKeyTable goes through each state of a key against each age, with
// probes that say that nothing happened, and without probes.
func TestDecideKeyTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		key      KeyReading
		noProbes Verdict
		nothing  Verdict // the probes say that nothing happened yet
	}{
		{"absent", ageless(keys.Absent), WillRun, WillRun},
		{"failed and taken again", retaken(held(keys.Failed, young)), WillRun, WillRun},
		{"failed and blocking", held(keys.Failed, young), StaleKey, StaleKey},
		{"failed and blocking, old", held(keys.Failed, older), StaleKey, StaleKey},
		{"processing 4:59", held(keys.Processing, young), InProgress, InProgress},
		{"processing 5:00", held(keys.Processing, limit), InProgress, InProgress},
		{"processing 5:01", held(keys.Processing, older), StaleKey, StaleKey},
		{"processing since nobody knows", ageless(keys.Processing), InProgress, InProgress},
		{"held 4:59", held(keys.Held, young), Unproven, InProgress},
		{"held 5:00", held(keys.Held, limit), Unproven, InProgress},
		{"held 5:01", held(keys.Held, older), Unproven, StaleKey},
		{"held since nobody knows", ageless(keys.Held), Unproven, InProgress},
		{"succeeded", held(keys.Succeeded, young), WillSkip, Inconsistent},
		{"unreadable", ageless(keys.Unreadable), Unknown, Unknown},
		{"redis down", broken(keys.ErrUnavailable), Unknown, Unknown},
		{"space not configured", broken(keys.ErrNoSpace), Unknown, Unknown},
		{"a state of a later version", ageless("melting"), Unknown, Unknown},
	}
	nothings := map[string]Evidence{
		"state from":               {State: StateReading{Class: StateFrom}},
		"no effect":                {Effect: missing},
		"state from and no effect": {State: StateReading{Class: StateFrom}, Effect: missing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := Evidence{BusinessKey: "O1", Keys: []KeyReading{tt.key}}
			if got := Decide(e); got.Verdict != tt.noProbes {
				t.Errorf("no probes: %s (%s), want %s", got.Verdict, got.Why, tt.noProbes)
			}
			for name, probes := range nothings {
				e.State, e.Effect = probes.State, probes.Effect
				if got := Decide(e); got.Verdict != tt.nothing {
					t.Errorf("%s: %s (%s), want %s", name, got.Verdict, got.Why, tt.nothing)
				}
			}
		})
	}
}

// TestDecideBusinessTable goes through every answer of both probes: whatever
// the key says, as long as it can be read, these decide alone.
func TestDecideBusinessTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		state  StateClass
		effect EffectReading
		want   Verdict // "": the key decides
	}{
		{StateNotProbed, notAsked, ""},
		{StateNotProbed, there, AlreadyEffected},
		{StateNotProbed, missing, ""},
		{StateFrom, notAsked, ""},
		{StateFrom, there, Inconsistent},
		{StateFrom, missing, ""},
		{StateDone, notAsked, AlreadyEffected},
		{StateDone, there, AlreadyEffected},
		{StateDone, missing, Inconsistent},
		{StateOther, notAsked, RefusedByState},
		{StateOther, there, RefusedByState},
		{StateOther, missing, RefusedByState},
		{StateNoRow, notAsked, RefusedByState},
		{StateNoRow, there, RefusedByState},
		{StateNoRow, missing, RefusedByState},
	}
	readable := []KeyReading{
		ageless(keys.Absent), held(keys.Failed, young), held(keys.Processing, young), held(keys.Processing, older),
		held(keys.Held, young), held(keys.Held, older), held(keys.Succeeded, older),
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("state %q effect %v", tt.state, tt.effect), func(t *testing.T) {
			t.Parallel()
			for _, key := range readable {
				e := Evidence{BusinessKey: "O1", Keys: []KeyReading{key}, State: StateReading{Class: tt.state}, Effect: tt.effect}
				got := Decide(e)
				if tt.want != "" && (got.Verdict != tt.want || got.Stops != -1) {
					t.Errorf("key %s: %+v, want %s", key.Key.State, got, tt.want)
				}
				if tt.want == "" && (got.Verdict == AlreadyEffected || got.Verdict == RefusedByState) {
					t.Errorf("key %s: %+v, want the key to decide", key.Key.State, got)
				}
			}
		})
	}
}

func TestDecideGoesFromTopToBottom(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	tests := []struct {
		name string
		e    Evidence
		want Decision
	}{
		{
			"a probe that is down beats an effect that is there",
			Evidence{BusinessKey: "O1", State: StateReading{Err: down}, Effect: there},
			Decision{Unknown, WhyProbe, -1},
		},
		{
			"an effect probe that is down",
			Evidence{BusinessKey: "O1", Effect: EffectReading{Probed: true, Err: down}},
			Decision{Unknown, WhyProbe, -1},
		},
		{
			"redis down beats an effect that is there",
			Evidence{BusinessKey: "O1", Keys: []KeyReading{ageless(keys.Absent), broken(keys.ErrUnavailable)}, Effect: there},
			Decision{Unknown, WhyRedis, 1},
		},
		{
			"an unreadable key beats an effect that is there",
			Evidence{BusinessKey: "O1", Keys: []KeyReading{ageless(keys.Unreadable)}, Effect: there},
			Decision{Unknown, WhyUnreadable, 0},
		},
		{"no business key", Evidence{}, Decision{NoKey, WhyNoBusinessKey, -1}},
		{"no key space and no probe", Evidence{BusinessKey: "O1"}, Decision{WillRun, WhyNoKeySpace, -1}},
		{"all keys absent", Evidence{BusinessKey: "O1", Keys: []KeyReading{ageless(keys.Absent), ageless(keys.Absent)}}, Decision{WillRun, WhyAbsent, -1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Decide(tt.e); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestOfSeveralKeysTheMostBlockingDecides(t *testing.T) {
	t.Parallel()
	ladder := []KeyReading{ // each blocks more than the one before
		ageless(keys.Absent), held(keys.Processing, older), held(keys.Held, young), held(keys.Processing, young), held(keys.Succeeded, young),
	}
	want := []Verdict{WillRun, StaleKey, Unproven, InProgress, WillSkip}
	for low := range ladder {
		for high := low + 1; high < len(ladder); high++ {
			for _, order := range [][]int{{low, high}, {high, low}} {
				e := Evidence{BusinessKey: "O1", Keys: []KeyReading{ladder[order[0]], ladder[order[1]]}}
				got := Decide(e)
				if got.Verdict != want[high] || order[got.Stops] != high {
					t.Errorf("%s beside %s: %+v, want %s", want[low], want[high], got, want[high])
				}
			}
		}
	}
}

func TestUnackedDeliveriesChangeTheReasonAndNotTheVerdict(t *testing.T) {
	t.Parallel()
	none, some := int64(0), int64(3)
	for _, tt := range []struct {
		name    string
		key     KeyReading
		effect  EffectReading
		unacked *int64
		why     string
	}{
		{"stuck, not known", held(keys.Processing, older), notAsked, nil, WhyStuck},
		{"stuck, none", held(keys.Processing, older), notAsked, &none, WhyStuck},
		{"stuck, some", held(keys.Processing, older), notAsked, &some, WhyStuckUnacked},
		{"held, none", held(keys.Held, older), missing, &none, WhyHeldStale},
		{"held, some", held(keys.Held, older), missing, &some, WhyHeldStaleUnacked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Decide(Evidence{BusinessKey: "O1", Keys: []KeyReading{tt.key}, Effect: tt.effect, Unacked: tt.unacked})
			if got.Verdict != StaleKey || got.Why != tt.why {
				t.Errorf("got %+v, want stale_key because of %s", got, tt.why)
			}
		})
	}
}

func TestConsentForEachVerdict(t *testing.T) {
	t.Parallel()
	want := map[Verdict]Consent{
		Unknown: SentNever, NoKey: SentOverride, AlreadyEffected: SentOverride, Inconsistent: SentNever, RefusedByState: SentOverride,
		WillRun: SentFreely, InProgress: SentOverride, StaleKey: SentReleased, WillSkip: SentOverride, Unproven: SentReleased,
		"invented": SentNever, "": SentNever,
	}
	for v, consent := range want {
		if got := ConsentFor(v); got != consent {
			t.Errorf("%q: %s, want %s", v, got, consent)
		}
	}
	if len(Verdicts) != len(want)-2 {
		t.Errorf("%d verdicts are listed, %d tested", len(Verdicts), len(want)-2)
	}
}

package replay_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// An effect that is there protects the key whatever the order says: a refunded
// order was charged, and so was one whose row is gone.
func TestEffectProtectsItsKeyWhateverTheState(t *testing.T) {
	t.Parallel()
	tests := []struct {
		order  string // "": no row
		effect bool
		stays  bool
	}{
		{"PAID", true, true},
		{"PAID", false, true},
		{"INIT", true, true},
		{"REFUNDED", true, true},
		{"", true, true},
		{"INIT", false, false},
		{"REFUNDED", false, false},
		{"", false, false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("order %q effect %v", tt.order, tt.effect), func(t *testing.T) {
			t.Parallel()
			o := setUp(t, withProbes)
			if tt.order != "" {
				o.exec(t, o.business, "INSERT INTO t_order VALUES ('O1', $1)", tt.order)
			}
			if tt.effect {
				o.exec(t, o.business, "INSERT INTO t_account_flow VALUES ('O1', 'PAY_DEDUCT')")
			}
			o.hold(t, statusKey, "PROCESSING:dead", old)
			id := o.add(t, letter{key: "O1"})
			p, err := o.Preflight(t.Context(), id, replay.RouteAuto)
			if err != nil || (len(p.Releasable) == 0) != tt.stays {
				t.Errorf("preflight offers %d keys, %v, want the key to stay: %v", len(p.Releasable), err, tt.stays)
			}
			i, err := o.InspectKey(t.Context(), statusKey)
			if err != nil || i.Releasable == tt.stays || (i.WhyNot == replay.WhyBusinessDone) != tt.stays {
				t.Errorf("inspection: releasable %v (%s), %v, want the key to stay: %v", i.Releasable, i.WhyNot, err, tt.stays)
			}
			if tt.stays && tt.order != "INIT" {
				r := o.request(id)
				r.ReleaseKeys, r.Override = []replay.Release{o.seen(t, statusKey)}, []replay.Verdict{replay.RefusedByState, replay.AlreadyEffected}
				if _, err := o.Replay(t.Context(), r); err == nil || !o.there(t, statusKey) {
					t.Errorf("replay: %v, key there: %v, want it protected", err, o.there(t, statusKey))
				}
			}
			got, _, err := o.ReleaseKey(t.Context(), statusKey, o.seen(t, statusKey).Seen, dlq.Act{Actor: "alice", Reason: "x", At: time.Now()})
			want := keys.Released
			if tt.stays {
				want = keys.Protected
			}
			if err != nil || got != want || o.there(t, statusKey) != tt.stays {
				t.Errorf("release: %s, %v, key there: %v, want %s", got, err, o.there(t, statusKey), want)
			}
		})
	}
}

// What the inspection does not offer, a release refuses: whatever the script
// would make of it.
func TestReleaseRefusesWhatTheInspectionDoesNotOffer(t *testing.T) {
	t.Parallel()
	hash := keys.Space{Name: "hash", Pattern: "msg:idempotent:{business_key}", Style: keys.Hash, TTL: ttl, StuckAfter: 5 * time.Minute}
	const name = "msg:idempotent:O1"
	past := time.Now().Add(-old).UnixMilli()
	tests := []struct {
		name    string
		fields  []any
		retakes bool
		want    keys.ReleaseResult // "": ErrNotReleasable
	}{
		{"stuck", []any{"status", "PROCESSING", "startTime", past}, false, keys.Released},
		{"failed and blocking", []any{"status", "FAILED", "startTime", past}, false, keys.Released},
		{"failed and taken again", []any{"status", "FAILED", "startTime", past}, true, ""},
		{"no time", []any{"status", "PROCESSING", "startTime", "NaN"}, false, keys.TooYoung},
		{"a time in another notation", []any{"status", "PROCESSING", "startTime", "1e12"}, false, keys.TooYoung},
		{"no startTime", []any{"status", "PROCESSING"}, false, keys.TooYoung},
		{"no status", []any{"startTime", past}, false, keys.Protected},
		{"an unknown word", []any{"status", "OK", "startTime", past}, false, keys.Protected},
		{"succeeded", []any{"status", "SUCCESS", "startTime", past}, false, keys.Protected},
		{"young", []any{"status", "PROCESSING", "startTime", time.Now().UnixMilli()}, false, keys.TooYoung},
		{"absent", nil, false, keys.Gone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := setUp(t)
			space := hash
			space.FailedRetakes = tt.retakes
			o.options.Plans[0].Spaces = []string{"hash"}
			o.options.Keys = keys.NewRegistry(o.redis, []keys.Space{space})
			o.Service = replay.New(o.options)
			if tt.fields != nil {
				if err := o.redis.HSet(t.Context(), name, tt.fields...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			i, err := o.InspectKey(t.Context(), name)
			if err != nil || i.Releasable != (tt.want == keys.Released) {
				t.Errorf("inspection: releasable %v, %v", i.Releasable, err)
			}
			got, _, err := o.ReleaseKey(t.Context(), name, i.Key.Seen, dlq.Act{Actor: "alice", Reason: "x", At: time.Now()})
			if got != tt.want || errors.Is(err, replay.ErrNotReleasable) != (tt.want == "") {
				t.Errorf("release: %q, %v, want %q", got, err, tt.want)
			}
			if free := tt.want == keys.Released || tt.want == keys.Gone; o.there(t, name) == free {
				t.Errorf("the key is there: %v", !free)
			}
		})
	}
}

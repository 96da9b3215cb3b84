package dlq

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// A work queue whose consumer is away for a moment is a work queue still.
func TestWhoConsumedForAMinuteHasAWorkQueue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		seen map[time.Duration]bool // when somebody else was looked for, and was there
		want bool
	}{
		{"nobody", map[time.Duration]bool{0: false, time.Hour: false}, false},
		{"a consumer that is there", map[time.Duration]bool{0: true}, true},
		{"a lost console of ours", map[time.Duration]bool{0: true, 30 * time.Second: true, 40 * time.Second: false}, false},
		{"a consumer that is replaced", map[time.Duration]bool{0: true, workAfter: true, 2 * workAfter: false, 3 * workAfter: false}, true},
		{"one now and then", map[time.Duration]bool{0: true, time.Second: false, workAfter: true, workAfter + time.Second: false}, false},
	} {
		d := NewDrain(DrainOptions{Source: paySource})
		for _, at := range slices.Sorted(maps.Keys(tt.seen)) {
			d.sawOthers(tt.seen[at], arrival.Add(at))
		}
		if got := len(unconfirmed(d.hazards())) > 0; got != tt.want {
			t.Errorf("%s: hazard %v, want %v", tt.name, got, tt.want)
		}
	}
}

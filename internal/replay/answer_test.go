package replay

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// What a key says is never turned into more than it says: where the business
// database has decided, or did not answer, nothing is concluded from the key.
func TestKeyIsOnlyHeardWhereTheDatabaseDecides(t *testing.T) {
	t.Parallel()
	done := StateReading{Name: "order state", Class: StateDone, Value: "PAID"}
	from := StateReading{Name: "order state", Class: StateFrom, Value: "INIT"}
	failed := StateReading{Name: "order state", Err: errors.New("no answer")}
	there := EffectReading{Name: "account flow", Probed: true, There: true}
	nothing := EffectReading{Name: "account flow", Probed: true}
	tests := []struct {
		name      string
		key       keys.State
		state     StateReading
		effect    EffectReading
		says, why string
	}{
		{"done after a good replay", keys.Succeeded, done, there, SaysSkips, WhyKeyDone},
		{"done, and the database does not answer", keys.Succeeded, failed, EffectReading{}, SaysSkips, WhyKeyDone},
		{"done, and nothing happened", keys.Succeeded, from, nothing, SaysSkips, WhySucceededNothing},
		{"held, and the work is done", keys.Held, done, there, SaysUnproven, WhyKeyHeld},
		{"held for long, and nothing happened", keys.Held, from, nothing, SaysBlocks, WhyHeldStale},
		{"stuck, whatever the database says", keys.Processing, done, there, SaysBlocks, WhyStuck},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 9, 28, 3, 10, 0, 0, time.UTC)
			space := keys.Space{Name: "pay", StuckAfter: 5 * time.Minute}
			k := keys.Key{State: tt.key, Since: now.Add(-time.Hour), ReadAt: now}
			says, why := keyWord(KeyReading{Space: space, Key: k}, Evidence{BusinessKey: "P1", State: tt.state, Effect: tt.effect, At: now})
			if says != tt.says || why != tt.why {
				t.Errorf("the key says %s (%s), want %s (%s)", says, why, tt.says, tt.why)
			}
		})
	}
}

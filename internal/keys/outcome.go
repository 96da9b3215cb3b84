package keys

import "time"

// OutcomeStream is the Redis stream to which consumers report what became of
// a replayed message.
const OutcomeStream = "dlo:outcomes"

// Report is one consumer's word about one replayed message.
type Report struct {
	// Position is where it stands in the stream; "" where it came another way.
	Position  string    `json:"-"`
	MessageID string    `json:"message_id"`
	ReplayID  string    `json:"replay_id"`
	Outcome   string    `json:"outcome"` // processed, duplicate, guard_refused or failed
	Detail    string    `json:"detail"`
	At        time.Time `json:"at"`
}

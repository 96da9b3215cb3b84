package dlq

import (
	"iter"
	"time"

	"github.com/google/uuid"
)

// Act is who does something, from which address, why and when; it goes into
// the audit.
type Act struct {
	Actor  string
	From   string
	Reason string
	At     time.Time
}

// Results of an act on one message.
const (
	ResultDone     = "done"
	ResultNotFound = "not_found"
	ResultBadState = "bad_state"
	ResultRefused  = "refused" // of a re-import: it stays in quarantine
)

// ActResult is what became of one message of an act on many.
type ActResult struct {
	ID     string
	Result string // one of the Result constants
	State  State  // the message's state now; "" where there is no such message
	Why    string // what refused it; "" but for ResultRefused
}

// distinct yields what ids name, in their order and each once, however it is
// written; uuid.Nil stands for what is no id, and names no message.
func distinct(ids []string) iter.Seq2[string, uuid.UUID] {
	return func(yield func(string, uuid.UUID) bool) {
		seen := map[string]bool{}
		for _, id := range ids {
			key, err := uuid.Parse(id)
			if err == nil {
				id = key.String()
			} else {
				key = uuid.Nil
			}
			if !seen[id] && !yield(id, key) {
				return
			}
			seen[id] = true
		}
	}
}

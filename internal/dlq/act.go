package dlq

import "time"

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

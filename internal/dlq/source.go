package dlq

// Source is one terminal queue that the console drains.
type Source struct {
	Name   string
	Broker string
	Queue  string
	// OriginalQueue is a fixed name, or "" to work it out by evidence.
	OriginalQueue string
	// BusinessKey is where the business key stands: the first that yields a
	// value wins.
	BusinessKey []KeyFinder
	// FailureHeaders are the names that this source's consumers give the headers
	// in which they say why a message failed.
	FailureHeaders FailureHeaders
	RunbookURL     string
	// Terminal says that the configuration confirms whatever there is about the
	// queue for which an operator would be asked first.
	Terminal bool
}

// KeyFinder is one place where a business key may stand; exactly one of its
// fields is set.
type KeyFinder struct {
	Body     string // JSON path (RFC 9535), e.g. "$.orderNo"
	Header   string
	Property string // e.g. "message_id"
}

// SourceState is what the drain of a source is doing.
type SourceState string

// States of a source.
const (
	SourceUp      SourceState = "up"
	SourcePaused  SourceState = "paused"
	SourceBlocked SourceState = "blocked" // store, queue or broker refuse: nothing is taken off the queue
	SourceDown    SourceState = "down"    // the broker cannot be reached
	SourceMissing SourceState = "missing" // the broker has no such queue
)

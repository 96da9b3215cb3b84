// Package dlq keeps dead letters: it drains terminal queues into Postgres,
// works out why each message died and where it came from, and finds, annotates,
// discards and restores what is stored. It never publishes and never touches
// an idempotency key; see packages replay and keys for that.
//
// In Go an unknown string is "", an unknown time the zero time and an unknown
// number a nil pointer; in SQL each is NULL, and in JSON null.
package dlq

import (
	"errors"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// Errors that callers tell apart.
var (
	// ErrNotFound: there is no such message, round or source.
	ErrNotFound = errors.New("not found")
	// ErrBadState: the message's state does not allow the act.
	ErrBadState = errors.New("the message's state does not allow this")
	// ErrBadCursor: the cursor is not one that a page handed out.
	ErrBadCursor = errors.New("not a cursor of this list")
)

// State is where a dead letter stands (product.md §2).
type State string

// States of a dead letter.
const (
	Open      State = "open"
	Replaying State = "replaying"
	Replayed  State = "replayed"
	Resolved  State = "resolved"
	Discarded State = "discarded"
)

// States is every state, in the order of a dead letter's life.
var States = []State{Open, Replaying, Replayed, Resolved, Discarded}

// Reason is why the broker dead-lettered a message.
type Reason string

// Reasons of the broker; None where it recorded none.
const (
	Rejected      Reason = "rejected"
	Expired       Reason = "expired"
	MaxLen        Reason = "maxlen"
	DeliveryLimit Reason = "delivery_limit"
	OtherReason   Reason = "other"
	NoReason      Reason = "none"
)

// Reasons is the closed list of reasons.
var Reasons = []Reason{Rejected, Expired, MaxLen, DeliveryLimit, OtherReason, NoReason}

// Failure is why the consumer failed, as its framework recorded it. The
// broker's Reason is another thing.
type Failure struct {
	Type      string // exception type
	Message   string
	Stack     string
	Extractor string // which extractor found it; "" where none did
}

// Sources of a retry count.
const (
	RetriesFromFramework     = "framework"
	RetriesFromXDeath        = "x-death"
	RetriesFromDeliveryCount = "delivery-count"
)

// Origin is where a message was consumed before it died.
type Origin struct {
	Queue      string
	Exchange   *string // nil: unknown, or no clean text; "": the default exchange
	RoutingKey *string // nil: unknown, or no clean text
	// Evidence says where Queue comes from: one of the Origin constants; ""
	// where it is not known.
	Evidence string
}

// Facts are what one death tells: derived from the delivery, never stored
// instead of it.
type Facts struct {
	BusinessKey      string
	Reason           Reason
	Failure          Failure
	RetryCount       *int64
	RetryCountSource string // one of the RetriesFrom constants
	Original         Origin
	FirstDiedAt      time.Time
	DiedAt           time.Time // zero where the death's own time is unknown
	// ClockSaid is a time of a death that cannot be, in words: it counts as
	// unknown. "" where there was none. It is not stored, but read again.
	ClockSaid string
}

// Message is one dead letter with the facts of its current life.
type Message struct {
	ID           string
	Source       string
	State        State
	StateSince   time.Time
	Round        int
	PossibleCopy bool
	Quarantine   string // why it was quarantined; "" where it was not

	ClaimedBy    string
	ClaimedUntil time.Time

	Facts           // DiedAt is the arrival where the death's own time is unknown
	FirstDrainedAt  time.Time
	DrainedAt       time.Time
	ContentType     string
	ContentEncoding string
	BodySize        int64
	BodySHA256      []byte
	BodyPreview     string // start of the body; "" where it is empty or not text
	BodyIsText      bool
}

// Life is one death of a message: what the terminal queue delivered, without
// the body.
type Life struct {
	MessageID   string
	Round       int
	DrainedAt   time.Time
	DiedAtKnown bool
	Facts
	Exchange    string
	RoutingKey  string
	Redelivered bool
	Properties  rabbit.Properties
	Headers     rabbit.Table
	RawHeaders  []byte // the same as the bytes of an AMQP table; Headers may be nil where it cannot be read
	BodySize    int64
	BodySHA256  []byte
	ReplayID    int64 // the replay whose copy came back; 0 in a first life
}

// Note is what an operator wrote about a message.
type Note struct {
	ID    int64 // grows with each note
	At    time.Time
	Actor string
	Text  string
}

// Package keys reads idempotency keys as consumers keep them in Redis, says
// what each can tell, and releases a stale one safely. It also reads what
// consumers report about replayed messages. It never guesses: what cannot be
// read is Unreadable, what does not answer is an error, and neither is ever
// taken for Absent.
package keys

import (
	"errors"
	"time"
)

// Errors that callers tell apart.
var (
	// ErrUnavailable: Redis does not answer, or answers that it cannot serve.
	ErrUnavailable = errors.New("redis unavailable")
	// ErrRefused, always with ErrUnavailable: Redis answers, but does not do what
	// it was asked: it is a replica, or the user lacks a right. Nothing was done.
	ErrRefused = errors.New("redis refuses the command")
	// ErrReleaseUnknown: the answer to a release was lost, so that the key may be
	// gone. It never comes with ErrUnavailable, after which no key was touched.
	ErrReleaseUnknown = errors.New("the answer to the release was lost: the key may be gone")
	// ErrNoSpace: the key matches the pattern of no configured key space.
	ErrNoSpace = errors.New("the key belongs to no configured key space")
	// ErrBadSeen: the token is not one that a reading handed out.
	ErrBadSeen = errors.New("not a token of a key's reading")
	// ErrBadSettings: the settings of the connection cannot be used.
	ErrBadSettings = errors.New("not usable redis settings")
)

// Style is how a consumer keeps its keys.
type Style string

// Styles in use (product.md §1).
const (
	Flag   Style = "flag"
	Lock   Style = "lock"
	Status Style = "status"
	Hash   Style = "hash"
)

// Space is a family of keys of one consumer.
type Space struct {
	Name    string
	Pattern string // e.g. "mq:consumed:pay_success:{business_key}"
	Style   Style
	// TTL is what the consumer gives a key; 0: not known. Where it is not known
	// the age of a string cannot be known either, and the key is never released
	// while it may still be running.
	TTL time.Duration
	// StuckAfter is how long a key may say processing before its consumer is
	// taken for dead.
	StuckAfter time.Duration
	// FailedRetakes says that the consumer takes a failed key again; where it
	// does not, a failed key blocks every delivery.
	FailedRetakes bool
}

// State is what a key says.
type State string

// States of a key. Held says that it exists and no more; Unreadable that it is
// of the wrong type, lacks fields or is not this space's.
const (
	Absent     State = "absent"
	Processing State = "processing"
	Succeeded  State = "succeeded"
	Failed     State = "failed"
	Held       State = "held"
	Unreadable State = "unreadable"
)

// Why a key is Unreadable.
const (
	WhyType      = "wrong_type"     // another Redis type than the space's style keeps
	WhyValue     = "unknown_value"  // a word that the style does not have
	WhyNoStatus  = "no_status"      // a hash without status
	WhyNoStart   = "no_start_time"  // a hash that says processing, without startTime
	WhyStartTime = "bad_start_time" // a startTime that is not a time
)

// Key is one reading of one key.
type Key struct {
	Name   string
	Space  string
	Type   string // Redis type: string, hash, …; "none" where absent
	State  State
	Why    string            // why it is Unreadable, one of the Why constants; "" else
	Value  string            // of a string, cut for display
	Fields map[string]string // of a hash, each cut for display
	// Since is when the key was acquired; zero where it is not known. SinceFrom
	// says how it is known: "startTime", or "ttl" (the space's TTL less what is
	// left).
	Since     time.Time
	SinceFrom string
	// ExpiresAt is the absolute expiry; zero where the key has none.
	ExpiresAt time.Time
	Attempts  *int64
	Error     string
	ReadAt    time.Time
	// Seen is the opaque token of this reading: type, value and absolute expiry
	// as the operator saw them. A release acts only on what was seen.
	Seen string
}

// Age returns how long ago the key was acquired; false where that is not known.
func (k Key) Age() (time.Duration, bool) {
	if k.Since.IsZero() {
		return 0, false
	}
	return k.ReadAt.Sub(k.Since), true
}

// NoExpiry reports that the key exists and would never go away by itself.
func (k Key) NoExpiry() bool { return k.State != Absent && k.ExpiresAt.IsZero() }

// Stuck reports that the key has said processing for longer than s allows:
// its consumer is taken for dead. A key whose age is not known is not stuck.
func (k Key) Stuck(s Space) bool {
	age, known := k.Age()
	return k.State == Processing && known && age > s.StuckAfter
}

// Older reports that k was acquired longer ago than s allows for a run,
// whatever its state. A key whose age is not known is not.
func (k Key) Older(s Space) bool {
	age, known := k.Age()
	return known && age > s.StuckAfter
}

// ReleaseResult is what became of a release.
type ReleaseResult string

// Results of a release. Only Released freed the key; all others left it alone.
const (
	Released   ReleaseResult = "released"
	Gone       ReleaseResult = "gone"       // it was not there any more
	Changed    ReleaseResult = "changed"    // another value than was seen
	Reacquired ReleaseResult = "reacquired" // the same value, but another expiry: another run's key
	Protected  ReleaseResult = "protected"  // it says that the business succeeded
	WrongType  ReleaseResult = "type"       // another Redis type than was seen
	TooYoung   ReleaseResult = "too_young"  // it may still be running
)

// ReleaseResults is every result of a release.
var ReleaseResults = []ReleaseResult{Released, Gone, Changed, Reacquired, Protected, WrongType, TooYoung}

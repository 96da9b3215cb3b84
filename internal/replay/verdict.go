// Package replay sends dead letters back to where they came from. It says
// before a replay what the consumer's three guards will do with the message
// (preflight), publishes it with its bytes and headers as they died, and
// follows it to its true outcome. It never edits a business database and
// never publishes a message whose last attempt is unknown.
//
// A round is a life, and a life is a death that was drained: a replay sends
// round 1, and what comes back dead is round 2. A message that is open again
// because its outcome was bad or unconfirmed has not died again, so its round
// stays; the replays of one life are told apart by their ids.
package replay

import (
	"errors"
	"slices"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// Errors that callers tell apart.
var (
	// ErrClaimLost: another operator, tab or console holds the message.
	ErrClaimLost = errors.New("someone else is replaying this message")
	// ErrNotSent: preflight says no, and the request did not say to go on all
	// the same.
	ErrNotSent = errors.New("the preflight does not let this message go")
	// ErrPossibleCopy: the message may be a copy of another one, and the request
	// did not say to go on all the same.
	ErrPossibleCopy = errors.New("the message may be a copy of another one")
	// ErrKeyChanged: a key that was to be released is not as the operator saw it.
	ErrKeyChanged = errors.New("the idempotency key is not as it was seen")
	// ErrNoDestination: it is not known where the message came from.
	ErrNoDestination = errors.New("the original queue is not known")
	// ErrNotUnknown: only an attempt that is unknown can be settled.
	ErrNotUnknown = errors.New("the attempt is not unknown")
	// ErrNotItsKey: a key that was to be released with a message is not one of
	// the message's own.
	ErrNotItsKey = errors.New("the key is not one of this message's")
	// ErrNotReleasable: the key holds nothing back, so there is nothing to
	// release: its consumer takes a failed key again by itself.
	ErrNotReleasable = errors.New("the key holds nothing back")
	// ErrNoReason: what was asked for is a human's decision and needs a reason.
	ErrNoReason = errors.New("a reason is needed")
	// ErrNoEvidence: a probe did not answer, so that a key cannot be released:
	// in doubt it stays.
	ErrNoEvidence = errors.New("a probe of the business database did not answer")
	// ErrBadRoute: there is no such route.
	ErrBadRoute = errors.New("not a route")
)

// Verdict is what a replay will meet (product.md, "Preflight verdicts").
type Verdict string

// Verdicts, in the order in which they are decided.
const (
	Unknown         Verdict = "unknown"
	NoKey           Verdict = "no_key"
	AlreadyEffected Verdict = "already_effected"
	Inconsistent    Verdict = "inconsistent"
	RefusedByState  Verdict = "refused_by_state"
	WillRun         Verdict = "will_run"
	InProgress      Verdict = "in_progress"
	StaleKey        Verdict = "stale_key"
	WillSkip        Verdict = "will_skip"
	Unproven        Verdict = "unproven"
)

// Verdicts is every verdict, in the order in which they are decided.
var Verdicts = []Verdict{
	Unknown, NoKey, AlreadyEffected, Inconsistent, RefusedByState,
	WillRun, InProgress, StaleKey, WillSkip, Unproven,
}

// OverrideCopy is the word of a request's Override that sends what may be a
// copy of another message. It is no verdict: the guards may let both through.
const OverrideCopy Verdict = "possible_copy"

// Overrides is every word that Request.Override may have.
var Overrides = append(append(slices.Clone(Verdicts), OverrideCopy), unitOverrides()...)

// Consent is what a verdict asks for before the message is sent.
type Consent string

// Consents.
const (
	SentFreely   Consent = "free"
	SentReleased Consent = "release"  // when the key is released with it
	SentOverride Consent = "override" // when the request names the verdict in override
	SentNever    Consent = "never"
)

// StateClass is where the order state stands against what the guard lets pass.
type StateClass string

// Classes of an order state.
const (
	StateNotProbed StateClass = ""
	StateFrom      StateClass = "from"  // the guard lets it pass
	StateDone      StateClass = "done"  // the business succeeded
	StateOther     StateClass = "other" // neither: the guard refuses
	StateNoRow     StateClass = "no_row"
)

// KeyReading is one idempotency key of a message, or why it could not be read.
type KeyReading struct {
	Space keys.Space
	Key   keys.Key
	Err   error
}

// StateReading is the answer of the probe of kind state. Its zero value says
// that none is configured.
type StateReading struct {
	Name  string
	Class StateClass
	Value string // as the database has it
	Err   error
}

// EffectReading is the answer of the probe of kind effect. Its zero value says
// that none is configured.
type EffectReading struct {
	Name   string
	Probed bool
	There  bool
	Err    error
}

// Evidence is all that a verdict stands on.
type Evidence struct {
	BusinessKey string
	Keys        []KeyReading // none where the source has no key space
	State       StateReading
	Effect      EffectReading
	// Unacked is how many deliveries the consumers of the original queue hold;
	// nil where it is not known.
	Unacked *int64
	At      time.Time
}

// Decision is a verdict with the reason for it.
type Decision struct {
	Verdict Verdict
	// Why is one of the Why constants; the page turns it into a sentence.
	Why string
	// Stops is the index in Evidence.Keys of the key that decided; -1 where
	// none did.
	Stops int
}

// Route is how a replayed message reaches its original queue (rabbitmq.md §6, §11).
type Route string

// Routes.
const (
	RouteAuto           Route = "auto"
	RouteQueue          Route = "queue"           // default exchange, the queue's name as routing key
	RouteExchange       Route = "exchange"        // original exchange and routing key
	RouteReplayExchange Route = "replay_exchange" // an exchange of the console's own, bound to the queue alone
)

// Destination is where a replay will go, and why.
type Destination struct {
	Route      Route
	Exchange   string
	RoutingKey string
	Queue      string
	Why        string   // word of a closed list
	Warnings   []string // words of a closed list
}

// AttemptState is what became of one message in one replay.
type AttemptState string

// States of an attempt.
const (
	Waiting        AttemptState = "waiting"
	Sent           AttemptState = "sent"
	Skipped        AttemptState = "skipped"
	Blocked        AttemptState = "blocked"
	Returned       AttemptState = "returned"
	Refused        AttemptState = "refused"
	AttemptUnknown AttemptState = "unknown"
)

// AttemptStates is every state of an attempt.
var AttemptStates = []AttemptState{Waiting, Sent, Skipped, Blocked, Returned, Refused, AttemptUnknown}

// Outcome is what truly became of a sent message.
type Outcome string

// Outcomes of a sent attempt.
const (
	Awaited      Outcome = "awaited"
	Processed    Outcome = "processed"
	Duplicate    Outcome = "duplicate"
	GuardRefused Outcome = "guard_refused"
	DeadAgain    Outcome = "dead_again"
	Unconfirmed  Outcome = "unconfirmed"
)

// Outcomes is every outcome.
var Outcomes = []Outcome{Awaited, Processed, Duplicate, GuardRefused, DeadAgain, Unconfirmed}

// OutcomeSource says how an outcome is known.
type OutcomeSource string

// Sources of an outcome.
const (
	FromReport     OutcomeSource = "report"
	FromDeadLetter OutcomeSource = "dead_letter"
	FromKey        OutcomeSource = "key"
	FromProbe      OutcomeSource = "probe"
	FromInferred   OutcomeSource = "inferred"
	FromTimeout    OutcomeSource = "timeout"
)

// Headers that the console adds to a replayed message, as strings.
const (
	HeaderMessageID = "dlo-message-id"
	HeaderReplayID  = "dlo-replay-id"
	HeaderRound     = "dlo-round"
)

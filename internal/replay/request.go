package replay

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// Release is one key to be released with a replay, as the operator saw it.
type Release struct {
	Key  string
	Seen string // the token of the reading that the operator saw
}

// Request asks for one message to be sent back.
type Request struct {
	MessageID   string
	Actor       string
	From        string // the address it came from
	Reason      string
	ReleaseKeys []Release
	Override    []Verdict // what is to be passed over, words of Overrides; the operator names each
	Route       Route     // RouteAuto and "": as the source is configured
	At          time.Time
}

// What an attempt says of a release that has no result of keys' own.
const (
	ReleaseIntended keys.ReleaseResult = audit.ResultIntended // it is being done
	ReleaseUnknown  keys.ReleaseResult = "unknown"            // the key may be gone
	ReleaseNotDone  keys.ReleaseResult = "not_done"           // Redis did not serve; the key was not touched
)

// ReleasedKey is what became of one key that a replay was to release.
type ReleasedKey struct {
	Key    string             `json:"key"`
	Space  string             `json:"space"`
	Result keys.ReleaseResult `json:"result"` // one of keys.ReleaseResults, or of the above
	Before keys.State         `json:"before"` // what it said just before
}

// Result is what became of a replay that was claimed.
type Result struct {
	ReplayID      int64
	Attempt       AttemptState
	Outcome       Outcome // "" where it was not sent
	OutcomeSource OutcomeSource
	Detail        string
	Verdict       Verdict
	Released      []ReleasedKey
}

// NotSentError is ErrNotSent with what the preflight said.
type NotSentError struct {
	Preflight Preflight
	Cause     error // why the verdict is Unknown; nil else
}

func (e *NotSentError) Error() string {
	return fmt.Sprintf("replay: message %s: %v: verdict %s (%s)", e.Preflight.MessageID, ErrNotSent, e.Preflight.Verdict, e.Preflight.Why)
}

// Unwrap makes errors.Is find ErrNotSent and, where Redis was the cause,
// keys.ErrUnavailable.
func (e *NotSentError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrNotSent}
	}
	return []error{ErrNotSent, e.Cause}
}

// PossibleCopyError is ErrPossibleCopy with what the preflight said; it names
// the look-alikes.
type PossibleCopyError struct {
	Preflight Preflight
}

func (e *PossibleCopyError) Error() string {
	return fmt.Sprintf("replay: message %s: %v", e.Preflight.MessageID, ErrPossibleCopy)
}

// Unwrap makes errors.Is find ErrPossibleCopy.
func (e *PossibleCopyError) Unwrap() error { return ErrPossibleCopy }

// ClaimLostError is ErrClaimLost with who holds the message, and since when.
type ClaimLostError struct {
	MessageID string
	By        string
	Since     time.Time
}

func (e *ClaimLostError) Error() string {
	return fmt.Sprintf("replay: message %s: %v: %s since %s", e.MessageID, ErrClaimLost, e.By, e.Since.Format(time.RFC3339))
}

// Unwrap makes errors.Is find ErrClaimLost.
func (e *ClaimLostError) Unwrap() error { return ErrClaimLost }

// KeyChangedError is ErrKeyChanged with what the release met.
type KeyChangedError struct {
	Key    string
	Result keys.ReleaseResult
	Before keys.Key
}

func (e *KeyChangedError) Error() string {
	return fmt.Sprintf("replay: release %s: %v: %s", e.Key, ErrKeyChanged, e.Result)
}

// Unwrap makes errors.Is find ErrKeyChanged.
func (e *KeyChangedError) Unwrap() error { return ErrKeyChanged }

// allows reports whether the request gives the consent that sub asks for. The
// keys that are to be released with it are taken for gone: whether they can be
// released is for the release to say. A message that was resolved goes only
// where the request names the verdict, whatever it is.
func (r Request) allows(sub subject, was dlq.State) bool {
	if ConsentFor(sub.decision.Verdict) == SentNever {
		return false
	}
	asked := map[string]bool{}
	for _, k := range r.ReleaseKeys {
		asked[k.Key] = true
	}
	after := Decide(sub.evidence.without(asked)).Verdict
	named := slices.Contains(r.Override, after)
	switch ConsentFor(after) {
	case SentFreely:
		return was != dlq.Resolved || named || slices.Contains(r.Override, sub.decision.Verdict)
	case SentOverride:
		return named
	}
	return false
}

// allowsCopy reports that sub is no possible copy, or that the request says to
// send it all the same.
func (r Request) allowsCopy(sub subject) bool {
	return !sub.message.PossibleCopy || slices.Contains(r.Override, OverrideCopy)
}

// check looks at what can be wrong with a request before anything is done.
func (r Request) check(sub subject) error {
	for _, k := range r.ReleaseKeys {
		if !keys.ValidSeen(k.Seen) {
			return fmt.Errorf("replay: release %s: %w", k.Key, keys.ErrBadSeen)
		}
		if !slices.ContainsFunc(sub.evidence.Keys, func(own KeyReading) bool { return own.Key.Name == k.Key }) {
			return fmt.Errorf("replay: release %s: %w", k.Key, ErrNotItsKey)
		}
	}
	if sub.decision.Verdict == Unproven && len(r.ReleaseKeys) > 0 && r.Reason == "" {
		return fmt.Errorf("replay: message %s: %w: a held key is released by a human's decision", sub.message.ID, ErrNoReason)
	}
	return nil
}

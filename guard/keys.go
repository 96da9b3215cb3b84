package guard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Style is how keys are kept in Redis.
type Style string

// Styles of keys.
const (
	// Status keeps a string: PROCESSING:<token>, then SUCCESS. It tells an
	// unfinished run from a finished one; take it unless there is a reason not
	// to.
	Status Style = "status"
	// Hash keeps a hash with status, startTime (ms), attempts, error and token,
	// and a context where one is given. A failed run is kept as FAILED and taken
	// again by the next delivery.
	Hash Style = "hash"
	// Flag keeps the string 1:<token>. It cannot tell an unfinished run from a
	// finished one, so what a killed consumer left behind is taken for a
	// duplicate and acked: that work is lost unless something else looks for it.
	Flag Style = "flag"
)

// businessKeyMark is where a pattern takes the business key.
const businessKeyMark = "{business_key}"

// KeyOptions say how keys are named and kept.
type KeyOptions struct {
	// Pattern names a key; it contains {business_key} once, as in the console's
	// key_spaces: "mq:consumed:pay_success:{business_key}".
	Pattern string
	Style   Style // Status unless said
	// TTL must outlast the whole ladder and the longest run; 24 h unless said.
	TTL time.Duration
	// BareFlag writes the flag as a plain "1", for consumers that share keys
	// with older ones. Such a key has no owner: a run that was too slow can
	// delete the key of the run that came after it.
	BareFlag bool
}

// Keys is guard 1: the idempotency keys of one consumer. It is safe for
// concurrent use.
type Keys struct {
	client redis.Scripter
	o      KeyOptions
}

// NewKeys returns keys kept with client, or an error that names what is wrong
// with o. It does not reach Redis.
func NewKeys(client redis.Scripter, o KeyOptions) (*Keys, error) {
	if o.Style == "" {
		o.Style = Status
	}
	if o.TTL == 0 {
		o.TTL = 24 * time.Hour
	}
	switch {
	case client == nil:
		return nil, errors.New("guard: keys: a Redis client is required")
	case strings.Count(o.Pattern, businessKeyMark) != 1:
		return nil, fmt.Errorf("guard: keys: pattern %q must contain %s once", o.Pattern, businessKeyMark)
	case o.Style != Status && o.Style != Hash && o.Style != Flag:
		return nil, fmt.Errorf("guard: keys: unknown style %q", o.Style)
	case o.TTL < time.Second:
		return nil, fmt.Errorf("guard: keys: TTL %v is less than a second", o.TTL)
	case o.BareFlag && o.Style != Flag:
		return nil, errors.New("guard: keys: BareFlag is for the flag style only")
	}
	return &Keys{client, o}, nil
}

// Answer is what a key says to a delivery.
type Answer string

// Answers of a key.
const (
	First       Answer = "first"      // the key was free, and is now this run's
	Done        Answer = "done"       // the work is done: a duplicate
	HeldByOther Answer = "held"       // another run has not finished
	Unreadable  Answer = "unreadable" // not a key of this style: somebody else's, or broken
)

// Claim is one run's hold on a key.
type Claim struct {
	Key    string
	Token  string // of this run, whatever the answer
	Answer Answer
	TTL    time.Duration
}

// Acquire asks for the key of businessKey in one atomic step. The key is the
// caller's only where the answer is First. snapshot is what a hash keeps as
// its context; "" for none.
//
// An error means that Redis did not answer or cannot serve. The key may have
// been taken nevertheless, so the claim comes back with its token: Release
// frees the key if it is this claim's.
func (k *Keys) Acquire(ctx context.Context, businessKey, snapshot string) (Claim, error) {
	c := Claim{Key: k.Key(businessKey), Token: rand.Text(), TTL: k.o.TTL}
	answer, err := k.acquire(ctx, c, snapshot)
	if err != nil {
		return c, fmt.Errorf("guard: acquire %s: %w", c.Key, err)
	}
	c.Answer = answer
	return c, nil
}

// Key returns the name of businessKey's key.
func (k *Keys) Key(businessKey string) string {
	return strings.Replace(k.o.Pattern, businessKeyMark, businessKey, 1)
}

func (k *Keys) acquire(ctx context.Context, c Claim, snapshot string) (Answer, error) {
	ttl := k.o.TTL.Milliseconds()
	if k.o.Style == Hash {
		answer, err := acquireHash.Run(ctx, k.client, []string{c.Key}, c.Token, ttl, snapshot).Text()
		return Answer(answer), err
	}
	held, err := acquireString.Run(ctx, k.client, []string{c.Key}, k.running(c), ttl).StringSlice()
	if err != nil {
		return "", err
	}
	return k.read(held, c), nil
}

// running is the value of a string key while its run goes on.
func (k *Keys) running(c Claim) string {
	switch {
	case k.o.Style == Status:
		return statusProcessing + ":" + c.Token
	case k.o.BareFlag:
		return "1"
	}
	return "1:" + c.Token
}

// read turns the reply of acquireString into an answer.
func (k *Keys) read(reply []string, c Claim) Answer {
	kind, value := reply[0], reply[1]
	status, _, _ := strings.Cut(value, ":")
	switch {
	case kind == "taken":
		return First
	case kind != "string":
		return Unreadable
	case k.o.Style == Status && value == k.running(c):
		return First // an earlier try of this very call, whose reply was lost
	case k.o.Style == Status && status == statusSuccess:
		return Done
	case k.o.Style == Status && status == statusProcessing:
		return HeldByOther
	case k.o.Style == Status:
		return Unreadable
	case value == k.running(c) && !k.o.BareFlag:
		return First
	}
	return Done
}

// ClearResult is what became of a key that a run let go of.
type ClearResult string

// Results of MarkSuccess and Release.
const (
	Marked   ClearResult = "marked"    // it now says that the work is done
	Released ClearResult = "released"  // it is gone, or says FAILED (hash)
	NotOwner ClearResult = "not_owner" // it is another run's now, and was left alone
	Gone     ClearResult = "gone"      // it was not there any more, and was not made again
)

// MarkSuccess lets the key say that the work is done, and keeps its TTL. It
// acts only while c still owns the key.
func (k *Keys) MarkSuccess(ctx context.Context, c Claim) (ClearResult, error) {
	var reply *redis.Cmd
	switch k.o.Style {
	case Hash:
		reply = markHash.Run(ctx, k.client, []string{c.Key}, c.Token)
	case Flag:
		reply = confirmFlag.Run(ctx, k.client, []string{c.Key}, k.running(c))
	default:
		reply = markStatus.Run(ctx, k.client, []string{c.Key}, k.running(c))
	}
	return cleared(reply, c, "mark")
}

// Release frees the key after a failed run, by compare-and-delete; a hash says
// FAILED instead, with cause, and lets the next delivery take it. It acts only
// while c still owns the key (except for a bare flag, which has no owner).
func (k *Keys) Release(ctx context.Context, c Claim, cause error) (ClearResult, error) {
	if k.o.Style != Hash {
		return cleared(releaseString.Run(ctx, k.client, []string{c.Key}, k.running(c)), c, "release")
	}
	text := ""
	if cause != nil {
		text = bounded(cause.Error(), maxMessage)
	}
	return cleared(failHash.Run(ctx, k.client, []string{c.Key}, c.Token, text), c, "release")
}

func cleared(reply *redis.Cmd, c Claim, verb string) (ClearResult, error) {
	result, err := reply.Text()
	if err != nil {
		return "", fmt.Errorf("guard: %s %s: %w", verb, c.Key, err)
	}
	return ClearResult(result), nil
}

// Probe asks Redis whether a key of this pattern can be written and deleted,
// by a script that leaves nothing behind. A nil error means that Acquire can
// work again; an answer to PING would not (a full or read-only Redis gives one).
func (k *Keys) Probe(ctx context.Context) error {
	if err := probe.Run(ctx, k.client, []string{k.Key("guard-probe-" + rand.Text())}).Err(); err != nil {
		return fmt.Errorf("guard: probe Redis: %w", err)
	}
	return nil
}

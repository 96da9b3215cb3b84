package dlq

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// maxNesting is how deeply the client library lets headers nest.
const maxNesting = 32

// storeError says that err came from Postgres and not from the broker.
type storeError struct{ err error }

func (e storeError) Error() string { return e.err.Error() }
func (e storeError) Unwrap() error { return e.err }

// trouble is what an interruption of the drain means.
type trouble struct {
	state             SourceState
	why               string // for people: what happened, what is not done, what to do
	unexpected        bool   // worth a line in the log
	quickest, slowest time.Duration
}

// troubleOf puts an error that ended a session in words, and says how soon to
// try again.
func troubleOf(err error, s Source) trouble {
	var store storeError
	switch {
	case errors.Is(err, errPaused):
		return trouble{state: SourcePaused, quickest: turn, slowest: turn}
	case errors.Is(err, errElsewhere):
		return trouble{state: SourceUp, why: errElsewhere.Error(), quickest: 2 * turn, slowest: 2 * turn}
	case errors.As(err, &store):
		why := fmt.Sprintf("Postgres does not take messages (%v). They stay on the broker, and it is tried again.", store.err)
		return trouble{SourceBlocked, displayable(why), true, 250 * time.Millisecond, 15 * time.Second}
	case errors.Is(err, rabbit.ErrQueueMissing):
		why := fmt.Sprintf("The broker has no queue %q. Nothing is drained until it is declared, or its name in the configuration is put right.", s.Queue)
		return trouble{SourceMissing, why, true, 500 * time.Millisecond, 5 * time.Second}
	case errors.Is(err, rabbit.ErrPoison):
		why := fmt.Sprintf("The client library cannot read the headers of the message at the head of %q: they nest deeper than %d levels, have more than 8,192 elements, or are larger than a frame. "+
			"Nothing behind it is drained. Take it off with the broker's management UI, or raise an issue; draining then goes on by itself.", s.Queue, maxNesting)
		return trouble{SourceDown, why, true, 2 * turn, time.Minute}
	}
	why := fmt.Sprintf("The broker does not answer as it should (%v). Nothing is drained, and it is tried again.", err)
	return trouble{SourceDown, displayable(why), true, 250 * time.Millisecond, 15 * time.Second}
}

// backoff spaces tries that fail one after the other; its zero value is ready.
type backoff struct{ tries int }

func (b *backoff) reset() { b.tries = 0 }

// next returns how long to wait now: twice as long each time, between the two
// bounds, and spread so that many consoles do not come at once.
func (b *backoff) next(quickest, slowest time.Duration) time.Duration {
	wait := slowest
	if b.tries < 16 {
		wait = min(slowest, quickest<<b.tries)
	}
	b.tries++
	return wait/2 + rand.N(wait/2+1)
}

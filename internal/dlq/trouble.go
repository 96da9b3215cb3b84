package dlq

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// storeError says that err came from Postgres and not from the broker.
type storeError struct{ err error }

func (e storeError) Error() string { return e.err.Error() }
func (e storeError) Unwrap() error { return e.err }

// pace is how soon to try again what failed: ever more slowly, between the two.
type pace struct{ quickest, slowest time.Duration }

var (
	paceSoon   = pace{250 * time.Millisecond, 15 * time.Second} // what ends by itself
	paceLook   = pace{500 * time.Millisecond, 5 * time.Second}  // what somebody else has to do, seen at no cost
	paceSlow   = pace{2 * time.Second, time.Minute}             // what each try has a price for
	paceTurns  = pace{20 * time.Millisecond, 20 * time.Millisecond}
	pacePaused = pace{time.Second, time.Second}
	paceNever  = pace{} // what must not be tried before somebody has done something
)

// trouble is what an interruption of the drain means.
type trouble struct {
	state SourceState
	// kind tells troubles apart: a sentence may differ with each try, and is no
	// news then.
	kind       string
	why        string // for people: what happened, what is not done, what to do
	unexpected bool   // worth a line in the log
	pace       pace
}

// troubleOf puts an error that ended a session in words, and says how soon to
// try again.
func troubleOf(err error, s Source) trouble {
	var store storeError
	switch {
	case errors.Is(err, errPaused):
		return trouble{state: SourcePaused, kind: "paused", pace: pacePaused}
	case errors.Is(err, errElsewhere):
		return standby
	case errors.As(err, &store):
		return storeTrouble(store.err)
	}
	return brokerTrouble(err, s)
}

// standby is what a console shows while another one has its turn.
var standby = trouble{
	state: SourceUp, kind: "standby", why: "another console drains this source; this one takes turns", pace: paceTurns,
}

// brokerTrouble is troubleOf for what the broker or its queue is the cause of.
func brokerTrouble(err error, s Source) trouble {
	if hazards, ok := errors.AsType[hazardError](err); ok {
		return hazards.trouble(s)
	}
	if wrong, ok := errors.AsType[errWrongType](err); ok {
		err = fmt.Errorf("%w: %w", rabbit.ErrWrongType, wrong)
	}
	for _, t := range brokerTroubles {
		if errors.Is(err, t.err) {
			why := strings.NewReplacer("{queue}", fmt.Sprintf("%q", s.Queue), "{err}", err.Error()).Replace(t.why)
			return trouble{t.state, t.kind, displayable(why), true, t.pace}
		}
	}
	why := fmt.Sprintf("The broker does not answer as it should (%v). Nothing is drained, and it is tried again.", err)
	return trouble{SourceDown, "down", displayable(why), true, paceSoon}
}

// trouble says what was found out about the queue, and what to do.
func (e hazardError) trouble(s Source) trouble {
	why := fmt.Sprintf("The queue %q may not be terminal: %s. Nothing is drained, since that could take messages out of a retry loop or away from others. "+
		"If it is to be drained all the same, confirm it on the Sources page; else name the terminal queue in the configuration.", s.Queue, e)
	return trouble{SourceBlocked, "not terminal: " + strings.Join(idsOf(e.hazards), " "), displayable(why), true, paceLook}
}

// starved is what to show where the queue has messages and gives this drain
// none: it is subscribed, and that is all that can be done.
func starved(s Source, ready int64) trouble {
	why := fmt.Sprintf("The queue %q has %d messages and gives this console none: another consumer comes first "+
		"(single active consumer, or one of a higher priority). Nothing is drained until that one is gone; the console is in the line.", s.Queue, ready)
	return trouble{SourceBlocked, "starved", displayable(why), true, pacePaused}
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

package dlq

import (
	"crypto/sha256"

	"github.com/google/uuid"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// Headers that a replay puts on a message (product.md §3).
const (
	headerMessageID = "dlo-message-id"
	headerReplayID  = "dlo-replay-id"
	headerRound     = "dlo-round"
)

// comeback is what a message says about the replay that sent it.
type comeback struct {
	message uuid.UUID
	replay  int64 // 0: not said
	round   int64 // the life that was sent; 0: not said
}

// comebackOf reads the headers of a replay; ok is false where there are none.
func comebackOf(h rabbit.Table) (c comeback, ok bool) {
	text, _ := textOf(h[headerMessageID])
	id, err := uuid.Parse(text)
	if err != nil {
		return comeback{}, false
	}
	return comeback{
		message: id,
		replay:  valueOr(countOf(h[headerReplayID]), 0),
		round:   valueOr(countOf(h[headerRound]), 0),
	}, true
}

// thread is what is stored of a message that may have come back.
type thread struct {
	round   int
	replays map[int64]bool // those that sent it
	lives   []pastLife
}

type pastLife struct {
	round  int
	replay int64
	sha    [sha256.Size]byte
}

// Answers of thread.place.
const (
	stranger  placing = iota // an ordinary new message
	nextLife                 // the next life of its thread
	knownLife                // a life that the thread has already
	lookalike                // says it belongs to the thread, but is not proven to: a new message, marked
)

// placing is where a message belongs that carries the headers of a replay.
type placing int

// place decides where c belongs. A replay sends a message once, so that it
// comes back at most once: what the same replay brings again is the life that
// it brought before, however often a broker or a consumer copied it. Where the
// replay is not known the rounds decide, and only what continues the thread
// exactly joins it. A different body is never taken for something known.
func (t *thread) place(c comeback, sha [sha256.Size]byte) placing {
	if t == nil {
		return stranger
	}
	known := t.replays[c.replay]
	for _, l := range t.lives {
		again := l.replay == c.replay
		if !known {
			again = int64(l.round) == c.round+1
		}
		if again && l.sha == sha {
			return knownLife
		}
		if again {
			return lookalike
		}
	}
	if known || c.round == int64(t.round) {
		return nextLife
	}
	return lookalike
}

// grow adds the life that the thread gets in the transaction at hand, so that
// a second copy in the same window is known.
func (t *thread) grow(c comeback, sha [sha256.Size]byte) {
	t.round++
	replay := c.replay
	if !t.replays[replay] {
		replay = 0
	}
	t.lives = append(t.lives, pastLife{t.round, replay, sha})
}

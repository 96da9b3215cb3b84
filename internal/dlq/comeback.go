package dlq

import (
	"crypto/sha256"
	"slices"

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

// comebackOf reads the headers of a replay; ok is false where there are none,
// and where the id is not written as a replay writes it.
func comebackOf(h rabbit.Table) (c comeback, ok bool) {
	text, _ := textOf(h[headerMessageID])
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text {
		return comeback{}, false
	}
	return comeback{
		message: id,
		replay:  valueOr(countOf(h[headerReplayID]), 0),
		round:   valueOr(countOf(h[headerRound]), 0),
	}, true
}

// comeback reads what l says of the replay that sent it: of an envelope, the
// message inside says it.
func (l *letter) comeback() (comeback, bool) {
	c, ok := comebackOf(l.delivery.Headers)
	if !ok && l.inside != nil {
		return comebackOf(l.inside.headers)
	}
	return c, ok
}

// bodies are the hashes of the body of l and, of an envelope, of the message
// inside.
func (l *letter) bodies() [][sha256.Size]byte {
	if l.inside == nil || l.inside.problem != "" {
		return [][sha256.Size]byte{l.sha}
	}
	return [][sha256.Size]byte{l.sha, sha256.Sum256(l.inside.body)}
}

// thread is what is stored of a message that may have come back.
type thread struct {
	ours  bool // it is of the source at hand, and locked
	state State
	round int
	lives map[int][sha256.Size]byte // the body of each, by its round
	sent  map[int64]sending         // by the replay
	back  map[int64]bool            // replays that brought a life already
}

// sending is an attempt that reached the publish.
type sending struct {
	round   int                // the life that was sent
	body    *[sha256.Size]byte // that was sent; nil: that of the life
	queue   string             // "": not known
	settled bool               // its outcome was taken for final
}

// Answers of thread.place.
const (
	stranger  placing = iota // an ordinary new message
	nextLife                 // the next life of its thread
	lookalike                // a new message that may be a copy of one in the thread
)

// placing is where a message belongs that carries the headers of a replay.
type placing int

// place decides where a message belongs that says c, has the given bodies (of an
// envelope there are two) and died in queue ("": not known). Headers are only words: producers copy them
// to other events, and an exchange multiplies what a replay sent. So they never
// make a message one that is stored already (receipts alone do that), and a
// message joins a thread only where all that is known of the sending agrees.
// One replay brings one life; what else says it comes from that replay is a
// message of its own, and so is everything that is in doubt.
func (t *thread) place(c comeback, bodies [][sha256.Size]byte, queue string) placing {
	if t == nil {
		return stranger
	}
	if t.awaits(c, bodies, queue) {
		return nextLife
	}
	for _, known := range t.lives {
		if slices.Contains(bodies, known) {
			return lookalike
		}
	}
	for _, s := range t.sent {
		if s.body != nil && slices.Contains(bodies, *s.body) {
			return lookalike
		}
	}
	return stranger
}

// awaits says whether a replay sent this very message, and it has not come
// back before.
func (t *thread) awaits(c comeback, bodies [][sha256.Size]byte, queue string) bool {
	s, sent := t.sent[c.replay]
	body, kept := t.lives[s.round]
	if s.body != nil {
		body = *s.body
	}
	return t.ours && sent && kept && !t.back[c.replay] && int64(s.round) == c.round && slices.Contains(bodies, body) &&
		(queue == "" || s.queue == "" || queue == s.queue)
}

// grow adds the life that the thread gets in the transaction at hand, so that
// a second arrival in the same window finds it. It returns what the message was
// done with as, "" where nobody took it for done, or the correction of the
// replay's outcome says so (returnNoter).
func (t *thread) grow(c comeback, sha [sha256.Size]byte) (doneAs State) {
	if t.state == Discarded || (t.state == Resolved && !t.sent[c.replay].settled) {
		doneAs = t.state
	}
	t.state = Open
	t.round++
	t.lives[t.round], t.back[c.replay] = sha, true
	return doneAs
}

package dlq

import (
	"crypto/sha256"
	"time"

	"github.com/google/uuid"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// letter is one delivery made ready for the store.
type letter struct {
	delivery    rabbit.Delivery
	arrived     time.Time
	fingerprint fingerprint
	sha         [sha256.Size]byte
	facts       Facts
	inside      *inner // the message that this one is an envelope of; nil: it is none
	properties  []byte // in the form of AMQP
	headers     []byte // likewise
	bodyIsText  bool
	bodyPreview *string
	quarantine  string
	streamed    bool // it is with Postgres, in the transaction at hand

	// Where it belongs, decided while it is stored.
	id           uuid.UUID
	round        int
	replay       int64
	possibleCopy bool
	doneAs       State // what its message was until now, where that must be audited
}

// prepare works out all that can be worked out without the store. It never
// fails: what cannot be encoded is quarantined with its body.
func prepare(d rabbit.Delivery, s Source, arrived time.Time) *letter {
	l := &letter{delivery: d, arrived: arrived, sha: sha256.Sum256(d.Body), id: newID(), round: 1}
	l.facts, l.inside = examine(d, s, arrived)
	l.encode()
	l.fingerprint = fingerprintOf(d, l.properties, l.sha)
	if l.bodyIsText = isText(d.Body); l.bodyIsText {
		preview := previewOf(d.Body)
		l.bodyPreview = &preview
	}
	return l
}

// encode keeps properties and headers as bytes. What no broker delivers cannot
// be encoded; what the client library could not read, the broker's own bytes
// keep.
func (l *letter) encode() {
	var err error
	if l.properties, err = rabbit.EncodeProperties(l.delivery.Properties); err != nil {
		l.quarantine = cannotStore("properties", err)
	}
	if l.headers = l.delivery.RawHeaders; l.headers != nil {
		if why := l.delivery.Unreadable; why != "" {
			l.quarantine = cut(displayable("its headers cannot be read: "+why), maxQuarantine)
		}
		return
	}
	if l.headers, err = rabbit.EncodeHeaders(l.delivery.Headers); err != nil {
		l.headers, l.quarantine = nil, cannotStore("headers", err)
	}
}

func cannotStore(what string, err error) string {
	return cut(displayable("its "+what+" cannot be stored: "+err.Error()), maxQuarantine)
}

// newID returns an id that sorts by time, which keeps index pages together.
func newID() uuid.UUID {
	id, err := uuid.NewV7()
	if err != nil { // no random numbers: nothing works then
		return uuid.New()
	}
	return id
}

// quarantined is l with nothing but what it takes to keep it: the bytes of its
// body, its properties and headers, and why the store refused the rest. It is
// a message of its own even where l was to continue a thread.
func (l *letter) quarantined(why string) *letter {
	q := *l
	q.id, q.round, q.replay, q.doneAs = newID(), 1, 0, ""
	q.bodyIsText, q.bodyPreview = false, nil
	q.facts = Facts{Reason: l.facts.Reason, DiedAt: l.facts.DiedAt}
	q.quarantine = why
	return &q
}

// diedAt returns when l died, or arrived where that is unknown.
func (l *letter) diedAt() time.Time {
	if l.facts.DiedAt.IsZero() {
		return l.arrived
	}
	return l.facts.DiedAt
}

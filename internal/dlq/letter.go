package dlq

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
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
	properties  []byte
	headers     []byte
	headersRaw  []byte // headers, where jsonb may refuse them
	bodyText    *string
	bodyPreview *string
	quarantine  string

	// Where it belongs, decided while it is stored.
	id           uuid.UUID
	round        int
	replay       int64
	possibleCopy bool
	doneAs       State // what its message was until now, where that must be audited
}

// emptyObject stands where typed JSON is missing.
var emptyObject = []byte("{}")

// prepare works out all that can be worked out without the store. It never
// fails: what cannot be encoded is quarantined with its body.
func prepare(d rabbit.Delivery, s Source, arrived time.Time) *letter {
	l := &letter{
		delivery: d, arrived: arrived, sha: sha256.Sum256(d.Body), facts: Extract(d, s, arrived),
		id: newID(), round: 1,
	}
	var err error
	if l.properties, err = rabbit.EncodeProperties(d.Properties); err != nil {
		l.properties, l.quarantine = emptyObject, cannotStore("properties", err)
	}
	if l.headers, err = encodeHeaders(d.Headers); err != nil {
		// For human eyes only: this form cannot be read back.
		l.headers, l.headersRaw = emptyObject, fmt.Appendf(nil, "%#v", d.Headers)
		l.quarantine = cannotStore("headers", err)
	}
	l.fingerprint = fingerprintOf(d, l.properties, cmp.Or(string(l.headersRaw), string(l.headers)))
	if search, preview, ok := textOfBody(d.Body); ok {
		l.bodyText, l.bodyPreview = &search, &preview
	}
	return l
}

// maxNesting is how deeply tables and arrays may nest in headers: as deeply as
// the AMQP client reads them. What is deeper no framework wrote.
const maxNesting = 32

var errNesting = fmt.Errorf("they nest deeper than %d levels", maxNesting)

func encodeHeaders(h rabbit.Table) ([]byte, error) {
	if deeper(h, maxNesting) {
		return nil, errNesting
	}
	return rabbit.EncodeTable(h)
}

// deeper says whether more tables and arrays than the given levels nest in a
// header value.
func deeper(value any, levels int) bool {
	var inner []any
	switch v := value.(type) {
	case rabbit.Table:
		inner = slices.Collect(maps.Values(v))
	case []any:
		inner = v
	default:
		return false
	}
	return levels < 0 || slices.ContainsFunc(inner, func(v any) bool { return deeper(v, levels-1) })
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
	if q.headersRaw == nil {
		q.headers, q.headersRaw = emptyObject, l.headers
	}
	q.bodyText, q.bodyPreview = nil, nil
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

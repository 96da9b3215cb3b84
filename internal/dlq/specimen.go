package dlq

import (
	"strings"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// specimen is one delivery as the families look at it.
type specimen struct {
	headers    rabbit.Table
	properties rabbit.Properties
	queue      string    // the terminal queue; "" where it is not known
	arrived    time.Time // bounds which times are possible
	body       document
	marks      marks // families whose header names are there
	guess      bool  // there is a name for the generic extractor to look at
}

// read makes r the specimen of d. It looks at the names of headers only.
func (r *specimen) read(d rabbit.Delivery, queue string, arrived time.Time) {
	r.headers, r.properties, r.queue, r.arrived = d.Headers, d.Properties, queue, arrived
	r.body.reset(d.Body)
	r.marks, r.guess = 0, false
	for name := range d.Headers {
		m, plain := markOf(name)
		r.marks |= m
		r.guess = r.guess || (!plain && isGuessable(name))
	}
}

// markOf returns which families a header name tells of; plain says that it
// tells of none and is no guess either.
func markOf(name string) (m marks, plain bool) {
	if m, known := markNames[name]; known {
		return m, m == 0
	}
	return prefixMark(name), false
}

// forget lets go of all that r holds of a message.
func (r *specimen) forget() {
	r.headers, r.properties = nil, rabbit.Properties{}
	r.body.reset(nil)
}

// text returns a header that is text, "" where there is none.
func (r *specimen) text(name string) string {
	s, _ := textOf(r.headers[name])
	return s
}

// texts is how a family reads the three parts of a failure that stand in
// headers of their own.
func (r *specimen) failure(kind, message, stack string) Failure {
	return Failure{Type: r.text(kind), Message: r.text(message), Stack: r.text(stack)}
}

// marks is a set of families, one bit each.
type marks uint64

// markNames are the header names that tell a family, and those of the broker
// and of the console, which tell none and are no guess either.
var markNames = func() map[string]marks {
	names := map[string]marks{}
	for _, plain := range []string{
		"x-death", "x-first-death-queue", "x-first-death-reason", "x-first-death-exchange",
		"x-last-death-queue", "x-last-death-reason", "x-last-death-exchange",
		"x-delivery-count", "x-acquired-count", headerMessageID, headerReplayID, headerRound,
	} {
		names[plain] = 0
	}
	for i, f := range families {
		for _, name := range f.marks {
			names[name] |= 1 << i
		}
	}
	return names
}()

type markPrefix struct {
	prefix string
	mark   marks
}

// markPrefixes are the beginnings of header names that tell a family, by their
// first letter.
var markPrefixes = func() (byLetter [256][]markPrefix) {
	for i, f := range families {
		for _, prefix := range f.prefixes {
			byLetter[prefix[0]] = append(byLetter[prefix[0]], markPrefix{prefix, 1 << i})
		}
	}
	return byLetter
}()

func prefixMark(name string) marks {
	if name == "" {
		return 0
	}
	for _, p := range markPrefixes[name[0]] {
		if strings.HasPrefix(name, p.prefix) {
			return p.mark
		}
	}
	return 0
}

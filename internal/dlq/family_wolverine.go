package dlq

import (
	"strings"
	"time"
)

// wolverineFamily is Wolverine. By default it nacks and leaves no reason; with
// enhanced dead lettering it sends a copy that tells one.
var wolverineFamily = family{
	name:  "wolverine",
	marks: append([]string{"exception-type", "failed-at", "original-destination"}, wolverineEnvelope...),
	sure: func(r *specimen, marked bool) bool {
		return marked && (wolverineEnhanced(r) || hasMost(r, wolverineEnvelope, 3))
	},
	read: func(r *specimen) found {
		f := found{retries: countOf(r.headers["attempts"])}
		if !wolverineEnhanced(r) {
			return f
		}
		f.failure = r.failure("exception-type", "exception-message", "exception-stack")
		f.last = momentOf(r.headers["failed-at"], r.arrived)
		if address := r.text("original-destination"); strings.Contains(address, "/queue/") {
			f.queue = lastSegment(address)
		}
		return f
	},
	off: []string{
		"exception-type", "exception-message", "exception-stack", "failed-at",
		"original-destination", "original-partition", "original-offset", "attempts",
	},
	mend: func(r *specimen, u *Unit) {
		if past(r.headers["deliver-by"], u.at) {
			u.warn(WarnDeliverBy)
		}
	},
}

var wolverineEnvelope = []string{"message-type", "source", "destination", "sent-at", "deliver-by"}

func wolverineEnhanced(r *specimen) bool {
	return hasMost(r, []string{"failed-at", "exception-type", "original-destination"}, 2)
}

// hasMost says whether at least n of the names are there.
func hasMost(r *specimen, names []string, n int) bool {
	for _, name := range names {
		if _, there := r.headers[name]; there {
			n--
		}
	}
	return n <= 0
}

// past says whether a header tells a time that is over.
func past(value any, now time.Time) bool {
	m := momentOf(value, now.AddDate(1000, 0, 0))
	return !m.at.IsZero() && m.at.Before(now)
}

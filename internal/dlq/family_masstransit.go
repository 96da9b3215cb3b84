package dlq

import (
	"strings"
)

// massTransitFamily is MassTransit: <queue>_error for what failed, and
// <queue>_skipped for what no consumer takes. The body is an envelope of its
// own that consumers read, so that it is the unit to replay.
var massTransitFamily = family{
	name: "masstransit", prefixes: []string{"MT-"},
	sure: func(r *specimen, marked bool) bool {
		return marked || r.properties.ContentType == massTransitType
	},
	read: func(r *specimen) found {
		f := found{
			failure: r.failure("MT-Fault-ExceptionType", "MT-Fault-Message", "MT-Fault-StackTrace"),
			retries: firstCount(r, "MT-Fault-RetryCount", "MT-Fault-RedeliveryCount", "MT-Redelivery-Count"),
			queue:   lastSegment(r.text("MT-Fault-InputAddress")),
			last:    momentOf(r.headers["MT-Fault-Timestamp"], r.arrived),
		}
		// Of what was skipped nothing else says why.
		if why := r.text("MT-Reason"); f.failure == (Failure{}) && why != "fault" {
			f.failure.Message = why
		}
		return f
	},
	off: []string{"MT-Reason", "MT-Redelivery-Count"}, offPrefixes: []string{"MT-Fault-"},
	mend: func(r *specimen, u *Unit) {
		if r.properties.ContentType == massTransitType && r.body.at("headers", "MT-Redelivery-Count") != nil {
			u.warn(WarnRedeliveryCount)
		}
	},
}

const massTransitType = "application/vnd.masstransit+json"

// firstCount returns the first of headers that is a count.
func firstCount(r *specimen, names ...string) *int64 {
	for _, name := range names {
		if n := countOf(r.headers[name]); n != nil {
			return n
		}
	}
	return nil
}

// dotnetType returns the class of the exception that a .NET text begins with,
// or tells of first: "System.TimeoutException: no answer".
func dotnetType(text string) string {
	for word := range strings.FieldsSeq(cut(text, 4<<10)) {
		word = strings.TrimLeft(strings.TrimRight(word, ":,)"), "(")
		if strings.HasSuffix(word, "Exception") && className(word) != "" {
			return word
		}
	}
	return ""
}

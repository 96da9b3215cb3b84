package dlq

import (
	"strings"
)

// rebusFamily is Rebus, whose queue for what failed is called error.
var rebusFamily = family{
	name: "rebus", prefixes: []string{"rbs2-"},
	read: func(r *specimen) found {
		f := found{
			queue:   nameOf(r.text("rbs2-source-queue")),
			retries: countOf(r.headers["rbs2-delivery-count"]),
		}
		details := r.text("rbs2-error-details")
		f.failure = Failure{Type: dotnetType(details), Message: details}
		if line, rest, more := strings.Cut(details, "\n"); more && strings.TrimSpace(rest) != "" {
			f.failure.Message, f.failure.Stack = strings.TrimSpace(line), details
		}
		return f
	},
	off: []string{"rbs2-error-details", "rbs2-source-queue", "rbs2-delivery-count"},
	mend: func(r *specimen, u *Unit) {
		if _, elsewhere := r.headers["rbs2-payload-attachment-id"]; elsewhere {
			u.warn(WarnBodyElsewhere)
		}
	},
}

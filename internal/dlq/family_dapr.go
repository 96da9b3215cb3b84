package dlq

import (
	"strings"
)

// daprFamily is Dapr, which nacks and leaves no reason; its body is a CloudEvent
// that says by which component it came.
var daprFamily = family{
	name: "dapr",
	sure: func(r *specimen, _ bool) bool {
		return r.body.isObject() && r.body.has("pubsubname") && r.body.has("specversion")
	},
	read: func(r *specimen) found { return found{named: daprQueue(r.queue)} },
}

// daprQueue returns the queue whose dead letters a queue of Dapr holds.
func daprQueue(terminal string) string {
	q, ok := strings.CutPrefix(terminal, "dlq-")
	if !ok {
		return ""
	}
	return q
}

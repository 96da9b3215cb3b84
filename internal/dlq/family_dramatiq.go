package dlq

import (
	"slices"
	"strings"
)

// dramatiqFamily is Dramatiq, which keeps its counters and the last traceback
// in the body. What died is the body as it was received: it tells of the attempt
// before.
var dramatiqFamily = family{
	name: "dramatiq",
	sure: func(r *specimen, _ bool) bool {
		return r.body.isObject() && r.body.has("actor_name") && r.body.has("queue_name") && r.body.has("message_id") && r.body.has("options")
	},
	read: func(r *specimen) found {
		f := found{
			retries: r.body.countAt("options", "retries"),
			queue:   nameOf(liveQueue(r.body.textAt("queue_name"))),
			failure: Failure{Stack: r.body.textAt("options", "traceback")},
		}
		f.failure.Type, f.failure.Message = pythonError(f.failure.Stack)
		f.failure = clearText(f.failure)
		return f
	},
	mend: mendDramatiq,
}

// liveQueue returns the queue that a delay queue or a dead letter queue of
// Dramatiq belongs to.
func liveQueue(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, ".XQ"), ".DQ")
}

// pythonError returns class and message of the last line of a traceback.
func pythonError(trace string) (class, message string) {
	trace = strings.TrimSpace(trace)
	line := trace[strings.LastIndexByte(trace, '\n')+1:]
	class, message, _ = strings.Cut(line, ": ")
	if strings.ContainsRune(class, ' ') || className(class) == "" {
		return "", line
	}
	return class, message
}

// dramatiqSpent are the options by which Dramatiq counts, waits and shows why.
var dramatiqSpent = []string{"retries", "traceback", "eta", "requeue_timestamp"}

// mendDramatiq sets a message back to what its producer sent. Every byte that
// this is not about stays. It changes what the message says, so an operator has
// to agree.
func mendDramatiq(r *specimen, u *Unit) {
	body, edited := r.body.text, false
	options, ok := lastNamed(body, r.body.members, "options")
	queue, named := lastNamed(body, r.body.members, "queue_name")
	var patches []patch
	if ok && body[options.value] == '{' {
		if rest, less := withoutMembers(body, options, dramatiqSpent); less {
			patches = append(patches, patch{options.value, options.valueEnd, rest})
			u.edit(EditDramatiqOptions)
			edited = true
		}
	}
	if named {
		if name := jsonText(body[queue.value:queue.valueEnd]); name != liveQueue(name) && isShortSuffix(body[queue.value:queue.valueEnd], name) {
			kept := queue.valueEnd - 1 - (len(name) - len(liveQueue(name)))
			patches = append(patches, patch{kept, queue.valueEnd, []byte(`"`)})
			u.edit(EditDramatiqQueue)
			edited = true
		}
	}
	if edited {
		mark := r.body.body[:len(r.body.body)-len(body)]
		u.Body = slices.Concat(mark, patched(body, patches))
		u.consent(ConsentEditBody)
	}
}

// isShortSuffix says whether what liveQueue takes off name stands in the JSON
// string letter by letter.
func isShortSuffix(quoted []byte, name string) bool {
	return strings.HasSuffix(string(quoted), name[len(liveQueue(name)):]+`"`)
}

// withoutMembers returns the object that is m's value without the members of
// the given names; less is false where it has none of them.
func withoutMembers(text []byte, m member, names []string) (rest []byte, less bool) {
	members, _ := membersOf(text, m.value, 0, nil, true)
	rest = append(rest, '{')
	for _, each := range members {
		if slices.ContainsFunc(names, func(name string) bool { return isNamed(text[each.name:each.nameEnd], name) }) {
			less = true
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(rest, text[each.name:each.valueEnd]...)
	}
	return append(rest, '}'), less
}

// patch is a part of a text and what comes in its place.
type patch struct {
	from, to int
	with     []byte
}

// patched returns text with patches, which do not overlap, in place.
func patched(text []byte, patches []patch) []byte {
	slices.SortFunc(patches, func(a, b patch) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, p := range patches {
		out = append(append(out, text[at:p.from]...), p.with...)
		at = p.to
	}
	return append(out, text[at:]...)
}

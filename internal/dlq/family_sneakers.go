package dlq

import (
	"strings"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// sneakersFamily is Sneakers, and Kicks after it, with its Maxretry handler.
// Since December 2018 the body is the message's own and one header has all the
// rest as JSON; before that the body was an envelope. What goes back is in both
// cases the message with the properties and headers that it once had.
var sneakersFamily = family{
	name: "sneakers", marks: []string{"retry_info"},
	sure: func(r *specimen, marked bool) bool { return marked || isOldSneakers(r) },
	read: func(r *specimen) found {
		info := r.retryInfo()
		if info.newest == nil {
			return found{}
		}
		f := found{
			failure: Failure{Type: textIn(info.newest, "error_class"), Message: textIn(info.newest, "error_message"), Stack: linesIn(info.newest["backtrace"])},
			retries: countOf(jsonNumber(info.newest["num_attempts"])),
			last:    momentIn(textIn(info.newest, "failed_at"), r.arrived),
			inner:   r.sneakersInner(info),
		}
		if f.failure == (Failure{}) {
			f.failure.Message = textIn(info.newest, "error")
		}
		f.failure = clearText(f.failure)
		if f.inner != nil {
			f.history = f.inner.headers["x-death"]
		}
		return f
	},
	off:  []string{"retry_info"},
	mend: func(r *specimen, u *Unit) { u.open(r.sneakersInner(r.retryInfo())) },
}

func isOldSneakers(r *specimen) bool {
	return r.body.isObject() && r.body.has("payload") && r.body.has("num_attempts") && r.body.has("error") && r.body.has("failed_at")
}

// retryInfo is what Sneakers noted of the deaths of a message.
type retryInfo struct {
	newest, oldest map[string]any // nil where it cannot be read
	old            bool           // it is of the time before 2018-12
}

func (r *specimen) retryInfo() retryInfo {
	header, marked := r.headers["retry_info"]
	if !marked {
		fields, _ := r.body.value().(map[string]any)
		return retryInfo{fields, fields, true}
	}
	text, _ := textOf(header)
	switch v := parseJSON([]byte(text)).(type) {
	case map[string]any:
		return retryInfo{v, v, false}
	case []any: // newest first
		if len(v) > 0 {
			newest, _ := v[0].(map[string]any)
			oldest, _ := v[len(v)-1].(map[string]any)
			return retryInfo{newest, oldest, false}
		}
	}
	return retryInfo{}
}

// sneakersInner rebuilds the message, nil where retry_info cannot be read: then
// it goes as it lies there.
func (r *specimen) sneakersInner(info retryInfo) *inner {
	if info.oldest == nil {
		return nil
	}
	in := &inner{body: r.body.body, warnings: []string{WarnHeaderTypes}}
	properties := info.oldest["properties"]
	if info.old {
		payload, ok := fromBase64(textIn(info.oldest, "payload"))
		if !ok {
			return &inner{problem: ProblemNoMessage}
		}
		in.body = payload
		if raw, ok := fromBase64(textIn(info.oldest, "properties")); ok {
			properties = parseJSON(raw)
		}
	}
	fields, ok := properties.(map[string]any)
	if !ok {
		in.properties, in.headers, in.warnings = r.properties, r.headers, []string{WarnNoProperties}
		return in
	}
	in.properties, in.headers = propertiesFrom(fields)
	if in.headers == nil {
		in.headers = rabbit.Table{}
	}
	return in
}

func textIn(fields map[string]any, name string) string {
	s, _ := fields[name].(string)
	return s
}

// linesIn returns a backtrace that is a text or an array of lines.
func linesIn(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []any:
		lines := make([]string, 0, min(len(v), 1000))
		for _, line := range v[:min(len(v), 1000)] {
			if s, ok := line.(string); ok {
				lines = append(lines, s)
			}
		}
		return strings.Join(lines, "\n")
	}
	return ""
}

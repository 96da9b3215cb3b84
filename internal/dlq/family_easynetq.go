package dlq

import (
	"bytes"
	"strings"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// easyNetQFamily is EasyNetQ, whose error queue holds envelopes: the message as
// text, its properties, where it was consumed and why it failed. What goes back
// is the message inside, never the envelope.
var easyNetQFamily = family{
	name: "easynetq",
	sure: func(r *specimen, _ bool) bool {
		return r.body.isObject() && (strings.Contains(r.properties.Type, "EasyNetQ") || r.body.has("BasicProperties")) &&
			r.body.has("RoutingKey") && r.body.has("Exchange") && r.body.has("Queue") && r.body.has("Exception")
	},
	read: func(r *specimen) found {
		exception := r.body.textAt("Exception")
		line, _, more := strings.Cut(exception, "\n")
		f := found{
			failure:    Failure{Type: dotnetType(line), Message: strings.TrimSpace(line)},
			queue:      nameOf(r.body.textAt("Queue")),
			exchange:   exactOf(r.body.textAt("Exchange")),
			routingKey: exactOf(r.body.textAt("RoutingKey")),
			last:       momentIn(r.body.textAt("DateTime"), r.arrived),
			inner:      r.easyNetQInner(),
		}
		if more {
			f.failure.Stack = exception
		}
		if rest, ok := strings.CutPrefix(f.failure.Message, f.failure.Type+": "); ok {
			f.failure.Message = rest
		}
		f.failure = clearText(f.failure)
		return f
	},
	mend: func(r *specimen, u *Unit) { u.open(r.easyNetQInner()) },
}

// easyNetQInner takes the message out of the envelope. The envelope does not
// say whether the message was text or base64: base64 it is where what comes out
// is JSON. Bytes that were no text were lost when the envelope was written.
func (r *specimen) easyNetQInner() *inner {
	message := r.body.at("Message")
	if len(message) == 0 || message[0] != '"' {
		return &inner{problem: ProblemNoMessage}
	}
	in := &inner{body: []byte(unquoted(message))}
	in.properties, in.headers = propertiesFrom(fieldsOf(r.body.at("BasicProperties")))
	for name, value := range in.headers {
		in.headers[name] = fromDotnet(value)
	}
	raw, encoded := fromBase64(string(in.body))
	switch {
	case bytes.ContainsRune(in.body, '\uFFFD'):
		in.consents = append(in.consents, ConsentLossyBody)
	case encoded && isContainer(raw):
		in.body = raw
		in.warnings = append(in.warnings, WarnBase64)
	case encoded && len(raw) >= 12 && !isPrintable(raw):
		in.consents = append(in.consents, ConsentLossyBody)
	}
	if len(in.headers) > 0 {
		in.warnings = append(in.warnings, WarnHeaderTypes)
	}
	return in
}

// isContainer says whether b is a JSON object or array.
func isContainer(b []byte) bool {
	if i := skipSpace(b, 0); i >= len(b) || b[i] != '{' && b[i] != '[' {
		return false
	}
	d := document{body: b}
	return d.read() != noJSON
}

// fromDotnet gives a header its text back: the client of .NET holds text as
// bytes, which the envelope holds as base64.
func fromDotnet(value any) any {
	switch v := value.(type) {
	case string:
		if raw, ok := fromBase64(v); ok && isPrintable(raw) {
			return string(raw)
		}
	case rabbit.Table:
		for name := range v {
			v[name] = fromDotnet(v[name])
		}
	case []any:
		for i := range v {
			v[i] = fromDotnet(v[i])
		}
	}
	return value
}

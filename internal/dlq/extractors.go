package dlq

import (
	"strings"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// guardHeaders reads what this project's own guard package leaves.
type guardHeaders struct{}

func (guardHeaders) name() string { return "guard" }

func (guardHeaders) extract(h rabbit.Table) found {
	f := found{retries: countOf(h["x-retry-count"])}
	// Other names of the guard are Spring's too; these two are its own.
	if h["x-exception-type"] == nil && h["x-original-queue"] == nil {
		return f
	}
	f.failure.Type, _ = textOf(h["x-exception-type"])
	f.failure.Message, _ = textOf(h["x-exception-message"])
	f.queue = shortOf(h["x-original-queue"])
	f.exchange, f.routingKey = exactOf(h["x-original-exchange"]), exactOf(h["x-original-routingKey"])
	return f
}

// springHeaders reads what Spring AMQP's RepublishMessageRecoverer leaves. Its
// newer versions leave no stack trace, and so no exception type either.
type springHeaders struct{}

func (springHeaders) name() string { return "spring" }

func (springHeaders) extract(h rabbit.Table) found {
	f := found{
		retries:    countOf(h["retry-count"]),
		exchange:   exactOf(h["x-original-exchange"]),
		routingKey: exactOf(h["x-original-routingKey"]),
	}
	f.failure.Message, _ = textOf(h["x-exception-message"]) // may be void
	f.failure.Stack, _ = textOf(h["x-exception-stacktrace"])
	f.failure.Type = javaType(f.failure.Stack)
	return f
}

// javaType returns the class of the innermost exception of a Java stack trace:
// that of the last "Caused by:", else that of the first line.
func javaType(trace string) string {
	line, _, _ := strings.Cut(trace, "\n")
	const cause = "Caused by: "
	if i := strings.LastIndex(trace, cause); i >= 0 && (i == 0 || strings.ContainsRune("\n\t ", rune(trace[i-1]))) {
		line, _, _ = strings.Cut(trace[i+len(cause):], "\n")
	}
	class, _, _ := strings.Cut(strings.TrimSpace(line), ":")
	for _, r := range class {
		if !isClassRune(r) {
			return ""
		}
	}
	return class
}

func isClassRune(r rune) bool {
	return r == '.' || r == '$' || r == '_' || r == '/' || '0' <= r && r <= '9' ||
		'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > 0x7f
}

// genericHeaders guesses by the names that home-grown consumers give their
// headers, whatever their case.
type genericHeaders struct{}

func (genericHeaders) name() string { return "generic" }

func (genericHeaders) extract(h rabbit.Table) found {
	var f found
	for _, name := range sortedNames(h) {
		plain := plainName(name)
		if retryNames[plain] && f.retries == nil {
			f.retries = countOf(h[name])
		}
		f.takeOrigin(plain, h[name])
		f.takeFailure(plain, h[name])
	}
	return f
}

// retryNames are names of retry counters, as plainName writes them.
var retryNames = map[string]bool{
	"retrycount": true, "retries": true, "retry": true, "attempts": true, "numattempts": true,
}

// plainName writes a header name in lower case, without an opening "x-" and
// without what separates words.
func plainName(name string) string {
	return separators.Replace(strings.TrimPrefix(strings.ToLower(name), "x-"))
}

var separators = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

func (f *found) takeOrigin(plain string, value any) {
	switch {
	case plain == "originalqueue" && f.queue == nil:
		f.queue = shortOf(value)
	case plain == "originalexchange" && f.exchange == nil:
		f.exchange = exactOf(value)
	case plain == "originalroutingkey" && f.routingKey == nil:
		f.routingKey = exactOf(value)
	}
}

func (f *found) takeFailure(plain string, value any) {
	text, ok := textOf(value)
	if !ok || text == "" {
		return
	}
	switch {
	case inOrder(plain, "stack", "trace"):
		f.failure.Stack = firstOf(f.failure.Stack, text)
	case inOrder(plain, "exception", "type"), inOrder(plain, "exception", "class"),
		inOrder(plain, "error", "type"), inOrder(plain, "error", "class"):
		f.failure.Type = firstOf(f.failure.Type, text)
	case inOrder(plain, "exception", "message"), inOrder(plain, "error", "message"),
		inOrder(plain, "error", "reason"), plain == "error", plain == "reason":
		f.failure.Message = firstOf(f.failure.Message, text)
	}
}

// inOrder says whether first and then second stand in s.
func inOrder(s, first, second string) bool {
	_, rest, ok := strings.Cut(s, first)
	return ok && strings.Contains(rest, second)
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

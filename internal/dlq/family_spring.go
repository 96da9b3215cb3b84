package dlq

import (
	"strings"
)

// Spring AMQP's RepublishMessageRecoverer, and the same in Spring Cloud Stream,
// whose terminal queues are named <destination>.<group>.dlq.
var (
	springFamily = family{
		name: "spring", marks: springMarks, off: springOff, read: readSpring,
		sure: func(r *specimen, marked bool) bool { return marked && !guards(r) && binderQueue(r.queue) == "" },
	}
	springCloudFamily = family{
		name: "spring-cloud-stream", marks: springMarks, off: springOff, read: readSpring,
		sure: func(r *specimen, marked bool) bool { return marked && !guards(r) && binderQueue(r.queue) != "" },
	}
)

var (
	springMarks = []string{"x-exception-stacktrace", "x-exception-message"}
	springOff   = []string{"x-exception-stacktrace", "x-exception-message", "x-original-exchange", "x-original-routingKey"}
)

// guards says whether headers that Spring writes too are the guard's.
func guards(r *specimen) bool {
	_, spring := r.headers["x-exception-stacktrace"]
	return !spring && hasMost(r, []string{"x-exception-type", "x-original-queue"}, 1)
}

// readSpring reads Spring's headers. The message may be void; newer versions
// leave no stack trace, and so no exception type either.
func readSpring(r *specimen) found {
	f := found{
		failure:    r.failure("", "x-exception-message", "x-exception-stacktrace"),
		retries:    countOf(r.headers["retry-count"]),
		exchange:   exactOf(r.headers["x-original-exchange"]),
		routingKey: exactOf(r.headers["x-original-routingKey"]),
	}
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
	return className(class)
}

// className returns s where it can be the name of a class, else "".
func className(s string) string {
	for _, r := range s {
		if !isClassRune(r) {
			return ""
		}
	}
	return s
}

func isClassRune(r rune) bool {
	return r == '.' || r == '$' || r == '_' || r == '/' || '0' <= r && r <= '9' ||
		'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > 0x7f
}

package dlq

import (
	"bytes"
	"strings"
)

// symfonyFamily is Symfony Messenger with AMQP as its failure transport. The
// JSON serializer writes stamps into headers; PhpSerializer writes all into the
// body, which nobody but PHP can read or change safely.
var symfonyFamily = family{
	name: "symfony", prefixes: []string{stampPrefix},
	sure: func(r *specimen, marked bool) bool { return marked || phpBody(r.body.body) != nil },
	read: func(r *specimen) found {
		if r.headers[stampPrefix+messengerStamp+"ErrorDetailsStamp"] == nil && r.headers[stampPrefix+messengerStamp+"RedeliveryStamp"] == nil {
			return found{}
		}
		details := lastStamp(r, "ErrorDetailsStamp")
		redelivery := lastStamp(r, "RedeliveryStamp")
		return found{
			failure: clearText(Failure{
				Type: textIn(details, "exceptionClass"), Message: textIn(details, "exceptionMessage"), Stack: traceOf(details["flattenException"]),
			}),
			retries: mostRetries(r),
			last:    momentIn(textIn(redelivery, "redeliveredAt"), r.arrived),
		}
	},
	// With SentToFailureTransportStamp on it, the next final failure is not sent
	// to the failure transport: the message is lost.
	offPrefixes: []string{
		stampPrefix + messengerStamp + "ErrorDetailsStamp",
		stampPrefix + messengerStamp + "RedeliveryStamp",
		stampPrefix + messengerStamp + "SentToFailureTransportStamp",
	},
	mend: func(r *specimen, u *Unit) {
		body := phpBody(r.body.body)
		switch {
		case body == nil:
		case bytes.Contains(body, []byte("SentToFailureTransportStamp")):
			u.consent(ConsentNextFailureLost)
		default:
			u.warn(WarnPHPBody)
		}
	},
}

const (
	stampPrefix    = "X-Message-Stamp-"
	messengerStamp = `Symfony\Component\Messenger\Stamp\`
)

// stamps returns the stamps of one kind, in the order in which they were put on.
func stamps(r *specimen, kind string) []any {
	list, _ := parseJSON([]byte(r.text(stampPrefix + messengerStamp + kind))).([]any)
	return list
}

func lastStamp(r *specimen, kind string) map[string]any {
	list := stamps(r, kind)
	if len(list) == 0 {
		return nil
	}
	stamp, _ := list[len(list)-1].(map[string]any)
	return stamp
}

// mostRetries returns the highest count: on its way to the failure transport a
// message gets a stamp that says 0.
func mostRetries(r *specimen) *int64 {
	var most *int64
	for _, each := range stamps(r, "RedeliveryStamp") {
		stamp, _ := each.(map[string]any)
		if n := countOf(jsonNumber(stamp["retryCount"])); n != nil && (most == nil || *n > *most) {
			most = n
		}
	}
	return most
}

func traceOf(flattened any) string {
	fields, _ := flattened.(map[string]any)
	return firstOf(textIn(fields, "traceAsString"), textIn(fields, "trace_as_string"))
}

// How a body of PhpSerializer begins: with slashes added or not, or as base64.
const phpEnvelope = `O:36:"Symfony\Component\Messenger\Envelope"`

var phpSlashed = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(phpEnvelope)

// looksLikePHP is the cheap question whether a body may be PhpSerializer's.
func looksLikePHP(body []byte) bool {
	const base64Start = "Tzoz" // of "O:3"
	return len(body) >= len(phpEnvelope) && (string(body[:4]) == phpEnvelope[:4] || string(body[:4]) == base64Start)
}

// phpBody returns a body of PhpSerializer, out of its base64, nil where it is none.
func phpBody(body []byte) []byte {
	if !looksLikePHP(body) || len(body) > maxParsedBody {
		return nil
	}
	if bytes.HasPrefix(body, []byte(phpEnvelope)) || bytes.HasPrefix(body, []byte(phpSlashed)) {
		return body
	}
	if raw, ok := fromBase64(string(body)); ok && bytes.HasPrefix(raw, []byte(phpEnvelope)) {
		return raw
	}
	return nil
}

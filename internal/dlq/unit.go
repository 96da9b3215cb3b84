package dlq

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// What a replay changes beside the headers that it takes off.
const (
	EditUnwrapped       = "unwrapped"        // the message inside the envelope
	EditRestored        = "restored"         // properties and headers are those that it once had
	EditDramatiqOptions = "dramatiq_options" // in the body: retries, traceback, eta
	EditDramatiqQueue   = "dramatiq_queue"   // in the body: queue_name without .DQ or .XQ
	EditLaravelAttempts = "laravel_attempts" // laravel.attempts is 0 again
	EditRascal          = "rascal_recovery"  // rascal.recovery and rascal.error
	EditStringsOnly     = "strings_only"     // headers that are no strings
)

// What an operator should know of a replay.
const (
	WarnRedeliveryCount = "redelivery_count_in_body" // MassTransit's counter stays in the body
	WarnDeliverBy       = "deliver_by_past"          // Wolverine drops it
	WarnExpires         = "expires_past"             // Celery revokes it
	WarnNoMessageID     = "no_message_id"            // NServiceBus refuses it
	WarnBodyElsewhere   = "body_elsewhere"           // Rebus keeps the body elsewhere
	WarnEncrypted       = "encrypted"                // Rascal has encrypted the body
	WarnPHPBody         = "php_body"                 // stamps in the body stay
	WarnBase64          = "base64"                   // the envelope held it as base64
	WarnHeaderTypes     = "header_types"             // JSON does not tell AMQP's types
	WarnNoProperties    = "no_properties"            // the envelope does not have them
)

// What an operator has to agree to before a message is sent; the request names
// each.
const (
	ConsentEditBody        = "edit_body"         // what is sent is not, byte for byte, what died
	ConsentLossyBody       = "lossy_body"        // the bytes may not be those that the producer sent
	ConsentNextFailureLost = "next_failure_lost" // where it fails again, its framework drops it
)

// Consents is every consent.
var Consents = []string{ConsentEditBody, ConsentLossyBody, ConsentNextFailureLost}

// ProblemNoMessage is said of an envelope that has no message that could be sent.
const ProblemNoMessage = "no_message"

// Unit is what a replay of one life sends: the life as it died, without what
// would make the broker or a consumer take it for something else, and, of an
// envelope, the message inside.
type Unit struct {
	Family     string // whose knowledge it is; "" where none is known
	Body       []byte
	Properties rabbit.Properties
	Headers    rabbit.Table
	Removed    []string // names of headers that come off, in alphabetical order
	Edits      []string // Edit constants
	Warnings   []string // Warn constants
	Consents   []string // Consent constants
	Problem    string   // why nothing can be sent; "" where it can

	at time.Time
}

// UnitOf returns what a replay of a life with the given body sends at a time.
// It changes neither: what is sent is a copy.
func UnitOf(l Life, body []byte, at time.Time) Unit {
	r := specimens.Get().(*specimen)
	defer specimens.Put(r)
	defer r.forget()
	r.read(rabbit.Delivery{Headers: l.Headers, Properties: l.Properties, Body: body}, "", at)
	u := Unit{Body: body, Properties: l.Properties, Headers: maps.Clone(l.Headers), at: at}
	if u.Headers == nil {
		u.Headers = rabbit.Table{}
	}
	for i, f := range families {
		if r.tells(i) {
			u.serve(f, r)
		}
	}
	u.dropCommon()
	if isFamily(l.Failure.Extractor) && u.Family != "" {
		u.Family = l.Failure.Extractor // it knew the queue too
	}
	slices.Sort(u.Removed)
	u.Removed = slices.Compact(u.Removed)
	return u
}

// serve does what family f knows.
func (u *Unit) serve(f *family, r *specimen) {
	u.Family = firstOf(u.Family, f.name)
	for name := range r.headers {
		if slices.Contains(f.off, name) || hasAnyPrefix(name, f.offPrefixes) {
			u.off(name)
		}
	}
	if f.mend != nil {
		f.mend(r, u)
	}
}

// open puts the message of an envelope in the envelope's place.
func (u *Unit) open(in *inner) {
	switch {
	case in == nil:
		return
	case in.problem != "":
		u.Problem = in.problem
		return
	}
	if string(in.body) != string(u.Body) {
		u.edit(EditUnwrapped)
	}
	for name := range u.Headers {
		if _, kept := in.headers[name]; !kept {
			u.Removed = append(u.Removed, name)
		}
	}
	u.Body, u.Properties, u.Headers = in.body, in.properties, maps.Clone(in.headers)
	if u.Headers == nil {
		u.Headers = rabbit.Table{}
	}
	if !slices.Contains(in.warnings, WarnNoProperties) {
		u.edit(EditRestored)
	}
	u.Warnings = append(u.Warnings, in.warnings...)
	u.Consents = append(u.Consents, in.consents...)
}

func (u *Unit) off(name string) {
	if _, there := u.Headers[name]; there {
		delete(u.Headers, name)
		u.Removed = append(u.Removed, name)
	}
}

func (u *Unit) edit(word string)    { u.Edits = appendOnce(u.Edits, word) }
func (u *Unit) warn(word string)    { u.Warnings = appendOnce(u.Warnings, word) }
func (u *Unit) consent(word string) { u.Consents = appendOnce(u.Consents, word) }

func appendOnce(words []string, word string) []string {
	if slices.Contains(words, word) {
		return words
	}
	return append(words, word)
}

func isFamily(name string) bool {
	return slices.ContainsFunc(families, func(f *family) bool { return f.name == name })
}

// commonOff are the headers that no replay may carry, by exact name: what the
// broker would take for its own state (rabbitmq.md's cycle rule drops a message
// by it), what would copy the message to other queues or delay it, and the
// counters, of whichever family, by which a consumer would call it exhausted at
// once.
var commonOff = map[string]bool{
	"x-death": true, "x-delivery-count": true, "x-acquired-count": true,
	"CC": true, "BCC": true, "x-delay": true,
	"x-retry-count": true, "retry-count": true, "x-retries": true, "x-retry": true, "attempts": true,
	"MT-Redelivery-Count": true, "HandledCount": true, "enqueue.redelivery_count": true, "rbs2-delivery-count": true,
}

// commonOffPrefixes are the same by how a name begins.
var commonOffPrefixes = []string{"x-first-death-", "x-last-death-"}

func isCommonOff(name string) bool { return commonOff[name] || hasAnyPrefix(name, commonOffPrefixes) }

func (u *Unit) dropCommon() {
	for name := range u.Headers {
		if isCommonOff(name) {
			u.off(name)
		}
	}
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// TellingStart is how much of a body BodyTells needs.
const TellingStart = 4 << 10

// BodyTells says whether a body that begins so may be one that a framework
// writes to: then UnitOf needs all of it. Else its start is enough.
func BodyTells(start []byte) bool {
	d := document{body: start}
	return d.looksLikeObject() || looksLikePHP(start)
}

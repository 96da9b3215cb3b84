package keys

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Redis types that a style may keep.
const (
	typeString = "string"
	typeHash   = "hash"
	typeNone   = "none"
)

// Expiries that Redis answers instead of an instant.
const (
	expiryNever = -1
	expiryGone  = -2
)

// shownBytes is how much of a value or a field a page gets to see.
const shownBytes = 256

// hashFields are the fields of a hash that are read, in this order. The field
// context holds the message's body and may be megabytes: only its length is.
var hashFields = []string{"status", "startTime", "attempts", "error", "token"}

// raw is what Redis said about one key, before it means anything.
type raw struct {
	typ     string
	value   string    // of a string, cut to readBytes
	size    int64     // of a string, whole
	fields  []*string // of a hash, as hashFields; nil where the field is missing
	context int64     // length of the hash's context
	expiry  int64     // absolute, in milliseconds; or expiryNever, expiryGone
	now     time.Time // Redis's own clock
}

// word takes the state from a value: the guard package writes its owner token
// behind it.
var word = regexp.MustCompile(`(?s)^([A-Za-z]+)(?::.*)?$`)

// states says what the words of consumers mean. What is not in it is
// Unreadable.
var states = map[string]State{
	"PROCESSING": Processing, "PENDING": Processing, "CONSUMING": Processing,
	"SUCCESS": Succeeded, "FINISHED": Succeeded, "CONSUMED": Succeeded,
	"FAILED": Failed,
}

// stateOf returns what value says, and false where it says nothing known.
func stateOf(value string) (State, bool) {
	m := word.FindStringSubmatch(value)
	if m == nil {
		return "", false
	}
	s, ok := states[strings.ToUpper(m[1])]
	return s, ok
}

// parse says what r means as the key name of space s. It never fails: what it
// cannot understand is Unreadable, with the reason.
func parse(s Space, name string, r raw) Key {
	k := Key{Name: name, Space: s.Name, Type: r.typ, State: Absent, ReadAt: r.now}
	if r.typ == typeNone || r.expiry == expiryGone {
		k.Type = typeNone
		k.Seen = seen{Type: typeNone, Expiry: expiryGone}.encode()
		return k
	}
	if r.expiry > 0 {
		k.ExpiresAt = time.UnixMilli(r.expiry).UTC()
	}
	k.Seen = seen{Type: r.typ, Print: r.print(), Expiry: r.expiry}.encode()
	switch {
	case r.typ != s.redisType():
		k.State, k.Why = Unreadable, WhyType
	case s.Style == Hash:
		parseHash(&k, r)
	default:
		parseString(&k, s, r)
	}
	if k.Since.IsZero() && k.State != Unreadable {
		k.Since, k.SinceFrom = acquiredByTTL(s, k)
	}
	return k
}

func parseString(k *Key, s Space, r raw) {
	k.Value = show(r.value)
	if s.Style != Status {
		k.State = Held
		return
	}
	state, ok := stateOf(r.value)
	if !ok {
		k.State, k.Why = Unreadable, WhyValue
		return
	}
	k.State = state
}

func parseHash(k *Key, r raw) {
	k.Fields = map[string]string{}
	for i, name := range hashFields {
		if i < len(r.fields) && r.fields[i] != nil {
			k.Fields[name] = show(*r.fields[i])
		}
	}
	if r.context > 0 {
		k.Fields["context"] = strconv.FormatInt(r.context, 10) + " bytes"
	}
	k.Error = k.Fields["error"]
	if n, err := strconv.ParseInt(k.Fields["attempts"], 10, 64); err == nil {
		k.Attempts = &n
	}
	status, there := k.Fields["status"]
	state, known := stateOf(status)
	switch {
	case !there:
		k.State, k.Why = Unreadable, WhyNoStatus
		return
	case !known:
		k.State, k.Why = Unreadable, WhyValue
		return
	}
	k.State = state
	parseStart(k)
}

// parseStart reads startTime. Only a key that says processing needs it: a
// consumer that marks an expired key done leaves a hash without one.
func parseStart(k *Key) {
	text, there := k.Fields["startTime"]
	ms, ok := startMilli(text)
	switch {
	case ok:
		k.Since, k.SinceFrom = time.UnixMilli(ms).UTC(), "startTime"
	case k.State != Processing:
	case !there:
		k.State, k.Why = Unreadable, WhyNoStart
	default:
		k.State, k.Why = Unreadable, WhyStartTime
	}
}

// A startTime outside these years is not one in milliseconds but a mistake:
// one in seconds would make every key look decades old, and so dead.
const (
	minMilli = 946684800000    // 2000
	maxMilli = 253402300799999 // the end of 9999
)

// startDigits is all that a startTime may be made of; the release script, whose
// numbers know "NaN" and "1e12", asks for the same.
var startDigits = regexp.MustCompile(`^[0-9]{1,15}$`)

// startMilli reads a startTime; false where it is none.
func startMilli(text string) (int64, bool) {
	if !startDigits.MatchString(text) {
		return 0, false
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	return ms, err == nil && ms >= minMilli && ms <= maxMilli
}

// acquiredByTTL works out when k was acquired from the expiry that is left and
// the TTL that its consumer gives. An instant in the future shows that another
// writer set another TTL: then it is not known.
func acquiredByTTL(s Space, k Key) (time.Time, string) {
	if s.TTL <= 0 || k.ExpiresAt.IsZero() {
		return time.Time{}, ""
	}
	since := k.ExpiresAt.Add(-s.TTL)
	if since.After(k.ReadAt) {
		return time.Time{}, ""
	}
	return since, "ttl"
}

// show cuts s for display and makes it fit for text columns and JSON.
func show(s string) string {
	cut := len(s) > shownBytes
	if cut {
		s = s[:shownBytes]
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if cut {
		s += "…"
	}
	return s
}

package dlq

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// textOf returns a header value that is text, whatever AMQP type carries it,
// in a form that a column takes.
func textOf(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return displayable(v), true
	case []byte:
		return displayable(string(v)), true
	}
	return "", false
}

// shortOf is textOf for names of queues and exchanges and for routing keys:
// what is longer than AMQP allows is none. The pointer is nil where there is
// none; "" is a name too, the default exchange's.
func shortOf(value any) *string {
	s, ok := textOf(value)
	if !ok || len(s) > maxShortString {
		return nil
	}
	return &s
}

// exactOf is shortOf for what a replay publishes to: a name that a column takes
// only in another form would lead elsewhere, so it is none.
func exactOf(value any) *string {
	raw, _ := value.(string)
	if bytes, ok := value.([]byte); ok {
		raw = string(bytes)
	}
	if !clean(raw) {
		return nil
	}
	return shortOf(value)
}

// countOf returns a header value that is a count: any integer or float type
// of AMQP, or a number written as text. Negative and broken values are none.
func countOf(value any) *int64 {
	n, ok := numberOf(value)
	if !ok || n < 0 {
		return nil
	}
	return &n
}

func numberOf(value any) (int64, bool) {
	switch v := value.(type) {
	case int8:
		return int64(v), true
	case uint8:
		return int64(v), true
	case int16:
		return int64(v), true
	case uint16:
		return int64(v), true
	case int32:
		return int64(v), true
	case uint32:
		return int64(v), true
	case int64:
		return v, true
	case int:
		return int64(v), true
	case float32:
		return wholeOf(float64(v))
	case float64:
		return wholeOf(v)
	case string:
		return numberIn(v)
	case []byte:
		return numberIn(string(v))
	}
	return 0, false
}

// wholeOf refuses what is no whole number, and what no int64 can hold.
func wholeOf(f float64) (int64, bool) {
	if f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

func numberIn(s string) (int64, bool) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, false
	}
	return wholeOf(f)
}

// sortedKeys returns the keys of m in alphabetical order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func valueOr(n *int64, other int64) int64 {
	if n == nil {
		return other
	}
	return *n
}

package rabbittest

import (
	"bytes"
	"math"
	"reflect"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// SameOnTheWire compares values as AMQP does: floats by their bits, times by
// their second, and an absent array or table like an empty one. It is linear;
// cmp takes twice as long for each level of nesting.
func SameOnTheWire(a, b any) bool {
	switch a := a.(type) {
	case float32:
		b, ok := b.(float32)
		return ok && math.Float32bits(a) == math.Float32bits(b)
	case float64:
		b, ok := b.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Unix() == b.Unix()
	case []byte:
		b, ok := b.([]byte)
		return ok && bytes.Equal(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && sameArrays(a, b)
	case amqp.Table:
		b, ok := b.(amqp.Table)
		return ok && sameTables(a, b)
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && a == b
}

func sameArrays(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !SameOnTheWire(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameTables(a, b amqp.Table) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		other, there := b[name]
		if !there || !SameOnTheWire(value, other) {
			return false
		}
	}
	return true
}

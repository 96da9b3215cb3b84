package rabbit_test

import (
	"bytes"
	"math"
	"reflect"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// sameOnTheWire compares values as onTheWire does, but in linear time: cmp
// takes twice as long for each level of nesting.
func sameOnTheWire(a, b any) bool {
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
	case rabbit.Table:
		b, ok := b.(rabbit.Table)
		return ok && sameTables(a, b)
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && a == b
}

func sameArrays(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameOnTheWire(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameTables(a, b rabbit.Table) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		other, there := b[name]
		if !there || !sameOnTheWire(value, other) {
			return false
		}
	}
	return true
}

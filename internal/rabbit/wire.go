package rabbit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// EncodeHeaders writes t as the bytes of an AMQP 0-9-1 field table, with its
// length in front, as the client library writes it; but names are sorted, so
// that equal tables give equal bytes. A nil table is an empty one.
//
// It fails only for what AMQP cannot hold: Go types that it does not have and
// names over 255 bytes, so never for a table that a broker delivered.
func EncodeHeaders(t Table) ([]byte, error) { return AppendHeaders(nil, t) }

// AppendHeaders is EncodeHeaders, but appends to dst. After an error it returns
// dst as it was.
func AppendHeaders(dst []byte, t Table) ([]byte, error) {
	w := writers.Get().(*wireWriter)
	w.out = dst
	err := w.table(t)
	out := w.out
	w.reset()
	writers.Put(w)
	if err != nil {
		return dst, fmt.Errorf("rabbit: encode headers: %w", err)
	}
	return out, nil
}

// wireWriter writes field tables. names is a stack: each table sorts its names
// on top of those of the tables that it lies in.
type wireWriter struct {
	out   []byte
	names []string
}

var writers = sync.Pool{New: func() any { return new(wireWriter) }}

// reset forgets what was written but for the room that it took.
func (w *wireWriter) reset() {
	clear(w.names[:cap(w.names)])
	w.out, w.names = nil, w.names[:0]
}

func (w *wireWriter) table(t Table) error {
	at := w.begin()
	bottom := len(w.names)
	for name := range t {
		w.names = append(w.names, name)
	}
	slices.Sort(w.names[bottom:])
	for i := range len(t) {
		name := w.names[bottom+i]
		if len(name) > maxShort {
			return fmt.Errorf("a name is %d bytes long and AMQP takes %d", len(name), maxShort)
		}
		w.out = append(append(w.out, byte(len(name))), name...)
		if err := w.field(t[name]); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	w.names = w.names[:bottom]
	return w.end(at)
}

func (w *wireWriter) array(values []any) error {
	at := w.begin()
	for i, value := range values {
		if err := w.field(value); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return w.end(at)
}

// begin leaves room for the length of what follows; end fills it in.
func (w *wireWriter) begin() int {
	w.out = append(w.out, 0, 0, 0, 0)
	return len(w.out)
}

func (w *wireWriter) end(at int) error {
	size := len(w.out) - at
	if size > math.MaxInt32 {
		return errTooLong
	}
	binary.BigEndian.PutUint32(w.out[at-4:], uint32(size))
	return nil
}

var errTooLong = errors.New("longer than AMQP can say")

// writeLong writes a value of type letter with its length in front.
func writeLong[T string | []byte](w *wireWriter, letter byte, v T) error {
	if len(v) > math.MaxInt32 {
		return errTooLong
	}
	w.out = append(binary.BigEndian.AppendUint32(append(w.out, letter), uint32(len(v))), v...)
	return nil
}

func (w *wireWriter) field(value any) error {
	switch v := value.(type) {
	case string:
		return writeLong(w, 'S', v)
	case []byte:
		return writeLong(w, 'x', v)
	case Table:
		w.out = append(w.out, 'F')
		return w.table(v)
	case []any:
		w.out = append(w.out, 'A')
		return w.array(v)
	case nil:
		w.out = append(w.out, 'V')
	case bool:
		w.out = append(w.out, 't', octet(v))
	case time.Time:
		w.eight('T', uint64(v.Unix()))
	case amqp.Decimal:
		w.out = binary.BigEndian.AppendUint32(append(w.out, 'D', v.Scale), uint32(v.Value))
	default:
		return w.number(value)
	}
	return nil
}

func (w *wireWriter) number(value any) error {
	switch v := value.(type) {
	case int8:
		w.out = append(w.out, 'b', byte(v))
	case uint8:
		w.out = append(w.out, 'B', v)
	case int16:
		w.out = binary.BigEndian.AppendUint16(append(w.out, 's'), uint16(v))
	case uint16:
		w.out = binary.BigEndian.AppendUint16(append(w.out, 'u'), v)
	case int32:
		w.four('I', uint32(v))
	case uint32:
		w.four('i', v)
	case int64:
		w.eight('l', uint64(v))
	case int:
		w.int(v)
	case float32:
		w.four('f', math.Float32bits(v))
	case float64:
		w.eight('d', math.Float64bits(v))
	default:
		return fmt.Errorf("AMQP has no type for %T", value)
	}
	return nil
}

// int takes the type that the client library sends an int as, or the next
// wider one where that would cut the number off.
func (w *wireWriter) int(v int) {
	if v == int(int32(v)) {
		w.four('I', uint32(v))
	} else {
		w.eight('l', uint64(v))
	}
}

func (w *wireWriter) four(letter byte, v uint32) {
	w.out = binary.BigEndian.AppendUint32(append(w.out, letter), v)
}

func (w *wireWriter) eight(letter byte, v uint64) {
	w.out = binary.BigEndian.AppendUint64(append(w.out, letter), v)
}

func octet(v bool) byte {
	if v {
		return 1
	}
	return 0
}

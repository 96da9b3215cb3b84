package rabbit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// maxWireDepth is how deeply tables and arrays may nest in what DecodeHeaders
// reads: far more than a client library takes, and little for the stack.
const maxWireDepth = 1000

var (
	errCutOff    = errors.New("cut off")
	errDeep      = errors.New("nested too deeply")
	errMany      = errors.New("too many values")
	errTrailing  = errors.New("bytes are left over at the end")
	errBeyondEnd = errors.New("a length goes beyond the end")
)

// DecodeHeaders reads the bytes of an AMQP 0-9-1 field table, as EncodeHeaders
// writes them or a broker delivers them. Where a table has a name twice, the
// last value wins, as with the client library. An empty input is no table.
//
// It takes any input: what it allocates is bounded by the input's length.
func DecodeHeaders(data []byte) (Table, error) {
	if len(data) == 0 {
		return nil, nil
	}
	r := newWireReader(data, maxWireDepth, len(data))
	t, err := r.all()
	if err != nil {
		return nil, fmt.Errorf("rabbit: decode headers: %w", err)
	}
	return t, nil
}

// wireReader reads field tables. Its strings are parts of text, a copy of data.
type wireReader struct {
	data []byte
	text string
	at   int

	maxDepth, maxValues int
	tables, values      int // read so far
}

func newWireReader(data []byte, maxDepth, maxValues int) wireReader {
	return wireReader{data: data, text: string(data), maxDepth: maxDepth, maxValues: maxValues}
}

// all reads a table that is all of the data.
func (r *wireReader) all() (Table, error) {
	t, err := r.table(len(r.data), 0)
	if err == nil && r.at != len(r.data) {
		err = errTrailing
	}
	if err != nil {
		return nil, fmt.Errorf("at byte %d: %w", r.at, err)
	}
	return t, nil
}

// take moves past n bytes and returns where they begin.
func (r *wireReader) take(n, end int) (int, error) {
	if n > end-r.at {
		return 0, errCutOff
	}
	at := r.at
	r.at += n
	return at, nil
}

// length reads a length in four bytes and returns where what it measures ends.
func (r *wireReader) length(end int) (int, error) {
	at, err := r.take(4, end)
	if err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(r.data[at:])
	if uint64(n) > uint64(end-r.at) {
		return 0, errBeyondEnd
	}
	return r.at + int(n), nil
}

func (r *wireReader) table(end, depth int) (Table, error) {
	if depth > r.maxDepth {
		return nil, errDeep
	}
	end, err := r.length(end)
	if err != nil {
		return nil, err
	}
	t := Table{}
	r.tables++
	for r.at < end {
		name, err := r.name(end)
		if err != nil {
			return nil, err
		}
		if t[name], err = r.field(end, depth); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (r *wireReader) name(end int) (string, error) {
	n := int(r.data[r.at])
	at, err := r.take(1+n, end)
	if err != nil {
		return "", err
	}
	return r.text[at+1 : at+1+n], nil
}

func (r *wireReader) array(end, depth int) ([]any, error) {
	if depth > r.maxDepth {
		return nil, errDeep
	}
	end, err := r.length(end)
	if err != nil {
		return nil, err
	}
	values := []any{}
	for r.at < end {
		v, err := r.field(end, depth)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

func (r *wireReader) field(end, depth int) (any, error) {
	if r.values++; r.values > r.maxValues {
		return nil, errMany
	}
	at, err := r.take(1, end)
	if err != nil {
		return nil, err
	}
	switch letter := r.data[at]; letter {
	case 'V':
		return nil, nil
	case 'S':
		from, err := r.long(end)
		return r.text[from:r.at], err
	case 'x':
		from, err := r.long(end)
		return append([]byte{}, r.data[from:r.at]...), err
	case 'A':
		return r.array(end, depth+1)
	case 'F':
		return r.table(end, depth+1)
	default:
		return r.fixed(letter, end)
	}
}

// long moves past bytes with their length in front and returns where they
// begin.
func (r *wireReader) long(end int) (int, error) {
	to, err := r.length(end)
	from := r.at
	if err == nil {
		r.at = to
	}
	return from, err
}

// fixedSize is how many bytes a value takes that is always as long, by the
// letter of its type; 0: no such type.
func fixedSize(letter byte) int {
	switch letter {
	case 't', 'b', 'B':
		return 1
	case 's', 'u':
		return 2
	case 'I', 'i', 'f':
		return 4
	case 'D':
		return 5
	case 'l', 'd', 'T':
		return 8
	}
	return 0
}

func (r *wireReader) fixed(letter byte, end int) (any, error) {
	size := fixedSize(letter)
	if size == 0 {
		return nil, unknownType(letter)
	}
	at, err := r.take(size, end)
	if err != nil {
		return nil, err
	}
	return fixedValue(letter, r.data[at:at+size]), nil
}

func unknownType(letter byte) error { return fmt.Errorf("no AMQP type %q", rune(letter)) }

func fixedValue(letter byte, b []byte) any {
	switch letter {
	case 't':
		return b[0] != 0
	case 'b':
		return int8(b[0])
	case 'B':
		return b[0]
	case 's':
		return int16(binary.BigEndian.Uint16(b))
	case 'u':
		return binary.BigEndian.Uint16(b)
	case 'I':
		return int32(binary.BigEndian.Uint32(b))
	case 'i':
		return binary.BigEndian.Uint32(b)
	case 'f':
		return math.Float32frombits(binary.BigEndian.Uint32(b))
	case 'D':
		return amqp.Decimal{Scale: b[0], Value: int32(binary.BigEndian.Uint32(b[1:]))}
	case 'l':
		return int64(binary.BigEndian.Uint64(b))
	case 'd':
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	default: // 'T', the last of fixedSize
		return time.Unix(int64(binary.BigEndian.Uint64(b)), 0).UTC()
	}
}

package rabbit

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// The way back from typed JSON. Nothing but the tests goes it: they prove by it
// that what the API shows of a table is all of it.

// DecodeTable reads what EncodeTable wrote. The table is the same on the wire:
// an absent array or table comes back as an empty one.
func DecodeTable(data []byte) (Table, error) {
	t, err := decodeTable(data, 0)
	if err != nil {
		return nil, fmt.Errorf("rabbit: decode headers: %w", err)
	}
	return t, nil
}

func unescapeName(name string) (string, error) {
	text, escaped := strings.CutPrefix(name, escapedName)
	if !escaped {
		return name, nil
	}
	b, err := base64.StdEncoding.DecodeString(text)
	return string(b), err
}

func decodeTable(data []byte, depth int) (Table, error) {
	if depth > maxDepth {
		return nil, errors.New("nested too deeply")
	}
	var members map[string]field
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	t := make(Table, len(members))
	for name, f := range members {
		name, err := unescapeName(name)
		if err != nil {
			return nil, fmt.Errorf("name %q: %w", name, err)
		}
		if t[name], err = decodeField(f, depth); err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
	}
	return t, nil
}

func decodeField(f field, depth int) (any, error) {
	switch f.T {
	case "V":
		return nil, nil
	case "t":
		var v bool
		err := json.Unmarshal(f.V, &v)
		return v, err
	case "S":
		return decodeString(f)
	case "x":
		return decodeBase64(f)
	case "A":
		return decodeArray(f.V, depth+1)
	case "F":
		return decodeTable(f.V, depth+1)
	}
	var text string
	if err := json.Unmarshal(f.V, &text); err != nil {
		return nil, err
	}
	return decodeNumber(f.T, text)
}

func decodeString(f field) (any, error) {
	if f.B64 != nil {
		b, err := base64.StdEncoding.DecodeString(*f.B64)
		return string(b), err
	}
	var v string
	err := json.Unmarshal(f.V, &v)
	return v, err
}

func decodeBase64(f field) (any, error) {
	if f.B64 == nil {
		return nil, errors.New("bytes without b64")
	}
	return base64.StdEncoding.DecodeString(*f.B64)
}

func decodeArray(data []byte, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("nested too deeply")
	}
	var fields []field
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	values := make([]any, len(fields))
	for i, f := range fields {
		v, err := decodeField(f, depth)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		values[i] = v
	}
	return values, nil
}

func decodeNumber(letter, text string) (any, error) {
	switch letter {
	case "b":
		v, err := strconv.ParseInt(text, 10, 8)
		return int8(v), err
	case "B":
		v, err := strconv.ParseUint(text, 10, 8)
		return uint8(v), err
	case "s":
		v, err := strconv.ParseInt(text, 10, 16)
		return int16(v), err
	case "u":
		v, err := strconv.ParseUint(text, 10, 16)
		return uint16(v), err
	case "I":
		v, err := strconv.ParseInt(text, 10, 32)
		return int32(v), err
	case "i":
		v, err := strconv.ParseUint(text, 10, 32)
		return uint32(v), err
	case "l":
		return strconv.ParseInt(text, 10, 64)
	case "f":
		return parseFloat32(text)
	case "d":
		return parseFloat64(text)
	case "D":
		return parseDecimal(text)
	case "T":
		v, err := strconv.ParseInt(text, 10, 64)
		return time.Unix(v, 0).UTC(), err
	}
	return nil, fmt.Errorf("no AMQP type %q", letter)
}

func parseFloat32(text string) (float32, error) {
	if hex, ok := strings.CutPrefix(text, notANumber); ok {
		bits, err := strconv.ParseUint(hex, 16, 32)
		return math.Float32frombits(uint32(bits)), err
	}
	v, err := strconv.ParseFloat(text, 32)
	return float32(v), err
}

func parseFloat64(text string) (float64, error) {
	if hex, ok := strings.CutPrefix(text, notANumber); ok {
		bits, err := strconv.ParseUint(hex, 16, 64)
		return math.Float64frombits(bits), err
	}
	return strconv.ParseFloat(text, 64)
}

// parseDecimal reads digits and scale, such as 1234e-2 for 12.34.
func parseDecimal(text string) (amqp.Decimal, error) {
	digits, scale, ok := strings.Cut(text, "e-")
	if !ok {
		return amqp.Decimal{}, fmt.Errorf("decimal %q has no scale", text)
	}
	v, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return amqp.Decimal{}, err
	}
	s, err := strconv.ParseUint(scale, 10, 8)
	return amqp.Decimal{Scale: uint8(s), Value: int32(v)}, err
}

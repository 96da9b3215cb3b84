package rabbit

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	amqp "github.com/rabbitmq/amqp091-go"
)

// escapedName opens a header name that JSON or PostgreSQL cannot hold as it
// is; base64 of the name follows. A clean name that opens with it is escaped too.
const escapedName = "=b64="

// field is one AMQP value in JSON. T is its AMQP type letter; V is its value,
// numbers as text; B64 takes the place of V for bytes that are no clean text.
type field struct {
	T   string          `json:"t"`
	V   json.RawMessage `json:"v,omitempty"`
	B64 *string         `json:"b64,omitempty"`
}

// EncodeTable writes t as JSON that keeps the AMQP type of each value and that
// jsonb accepts: one member for each header, such as {"count":{"t":"l","v":"5"}}.
// It fails only for Go types that AMQP does not have, so never for a table that
// a broker delivered.
func EncodeTable(t Table) ([]byte, error) {
	data, err := encodeTable(t)
	if err != nil {
		return nil, fmt.Errorf("rabbit: encode headers: %w", err)
	}
	return data, nil
}

func encodeTable(t Table) (json.RawMessage, error) {
	members := make(map[string]field, len(t))
	for name, value := range t {
		f, err := encodeField(value)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		members[escapeName(name)] = f
	}
	return json.Marshal(members)
}

func encodeField(value any) (field, error) {
	switch v := value.(type) {
	case nil:
		return field{T: "V"}, nil
	case bool:
		return field{T: "t", V: json.RawMessage(strconv.FormatBool(v))}, nil
	case int8:
		return number("b", strconv.FormatInt(int64(v), 10)), nil
	case uint8:
		return number("B", strconv.FormatUint(uint64(v), 10)), nil
	case int16:
		return number("s", strconv.FormatInt(int64(v), 10)), nil
	case uint16:
		return number("u", strconv.FormatUint(uint64(v), 10)), nil
	case int32:
		return number("I", strconv.FormatInt(int64(v), 10)), nil
	case uint32:
		return number("i", strconv.FormatUint(uint64(v), 10)), nil
	case int64:
		return number("l", strconv.FormatInt(v, 10)), nil
	case int:
		return encodeInt(v), nil
	case float32:
		return number("f", formatFloat32(v)), nil
	case float64:
		return number("d", formatFloat64(v)), nil
	case amqp.Decimal:
		return number("D", fmt.Sprintf("%de-%d", v.Value, v.Scale)), nil
	case time.Time:
		return number("T", strconv.FormatInt(v.Unix(), 10)), nil
	case string:
		return encodeString(v)
	case []byte:
		return inBase64("x", v), nil
	case []any:
		return encodeArray(v)
	case Table:
		data, err := encodeTable(v)
		return field{T: "F", V: data}, err
	}
	return field{}, fmt.Errorf("AMQP has no type for %T", value)
}

// number makes a field of text that needs no escape in JSON.
func number(letter, text string) field {
	return field{T: letter, V: json.RawMessage(`"` + text + `"`)}
}

// encodeInt takes the type that the client library sends an int as, or the
// next wider one where that would cut the number off.
func encodeInt(v int) field {
	letter := "I"
	if v != int(int32(v)) {
		letter = "l"
	}
	return number(letter, strconv.Itoa(v))
}

func encodeString(s string) (field, error) {
	if !clean(s) {
		return inBase64("S", []byte(s)), nil
	}
	data, err := json.Marshal(s)
	return field{T: "S", V: data}, err
}

func encodeArray(values []any) (field, error) {
	fields := make([]field, len(values))
	for i, value := range values {
		f, err := encodeField(value)
		if err != nil {
			return field{}, fmt.Errorf("element %d: %w", i, err)
		}
		fields[i] = f
	}
	data, err := json.Marshal(fields)
	return field{T: "A", V: data}, err
}

func inBase64(letter string, b []byte) field {
	text := base64.StdEncoding.EncodeToString(b)
	return field{T: letter, B64: &text}
}

// clean reports whether jsonb can hold s as text.
func clean(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

func escapeName(name string) string {
	if clean(name) && !strings.HasPrefix(name, escapedName) {
		return name
	}
	return escapedName + base64.StdEncoding.EncodeToString([]byte(name))
}

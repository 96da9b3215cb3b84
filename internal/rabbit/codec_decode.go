package rabbit

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxDepth is how deeply tables and arrays may nest in what DecodeTable reads;
// the client library takes no more than 32 levels from a broker.
const maxDepth = 64

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

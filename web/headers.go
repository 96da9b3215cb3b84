package web

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// headerRow is one header as it died.
type headerRow struct {
	Name, Type, Value string
	Long              bool // too long for a line: folded
	TakenOff          bool
}

// typedHeader is a header as package rabbit writes it: AMQP's type letter and
// the value.
type typedHeader struct {
	T   string          `json:"t"`
	V   json.RawMessage `json:"v"`
	B64 *string         `json:"b64"`
}

// AMQP's type letters in words.
var headerTypes = map[string]string{
	"t": "bool", "b": "int8", "B": "uint8", "s": "int16", "u": "uint16", "I": "int32", "i": "uint32", "l": "int64",
	"f": "float", "d": "double", "D": "decimal", "S": "longstr", "x": "bytes", "A": "array", "F": "table", "T": "timestamp", "V": "void",
}

const longHeader = 160

// headers lists h by name with types; off are those that a replay takes off.
func (f frame) headers(h rabbit.Table, off []string) ([]headerRow, error) {
	encoded, err := rabbit.EncodeTable(h)
	if err != nil {
		return nil, err
	}
	fields := map[string]typedHeader{}
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, fmt.Errorf("web: read headers: %w", err)
	}
	rows := make([]headerRow, 0, len(fields))
	for _, name := range sortedKeys(fields) {
		value := f.headerValue(fields[name])
		rows = append(rows, headerRow{name, headerTypes[fields[name].T], value, len(value) > longHeader || strings.Contains(value, "\n"), slices.Contains(off, name)})
	}
	return rows, nil
}

// headerValue shows a value without loss: nested ones as JSON, bytes as hex.
func (f frame) headerValue(h typedHeader) string {
	switch {
	case h.B64 != nil:
		return hexOf(*h.B64)
	case h.T == "F":
		fields := map[string]typedHeader{}
		if json.Unmarshal(h.V, &fields) != nil {
			return string(h.V)
		}
		parts := make([]string, 0, len(fields))
		for _, name := range sortedKeys(fields) {
			parts = append(parts, name+": "+f.headerValue(fields[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case h.T == "A":
		var items []typedHeader
		if json.Unmarshal(h.V, &items) != nil {
			return string(h.V)
		}
		parts := make([]string, len(items))
		for i, item := range items {
			parts[i] = f.headerValue(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var text string
	if json.Unmarshal(h.V, &text) != nil {
		return string(h.V)
	}
	if h.T == "T" {
		return f.timestamp(text)
	}
	return text
}

func (f frame) timestamp(seconds string) string {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return seconds
	}
	t := time.Unix(n, 0).In(f.now.Location())
	if t.Year() < 1970 || t.Year() > 9999 {
		return seconds
	}
	return f.full(t)
}

func hexOf(b64 string) string {
	raw, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		return b64
	}
	var b strings.Builder
	for i, c := range raw {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%02x", c)
	}
	return b.String()
}

func lineCount(s string) int { return strings.Count(strings.TrimRight(s, "\n"), "\n") + 1 }

func isText(b []byte) bool { return utf8.Valid(b) && !strings.ContainsRune(string(b), 0) }

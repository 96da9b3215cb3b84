package dlq

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/theory/jsonpath"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// maxParsedBody bounds the memory that looking for a key in a body takes; a
// key in a larger body is not found.
const maxParsedBody = 16 << 20

// Check says what is wrong with f, nil where nothing is.
func (f KeyFinder) Check() error {
	set := 0
	for _, s := range []string{f.Body, f.Header, f.Property} {
		if s != "" {
			set++
		}
	}
	if set != 1 {
		return fmt.Errorf("dlq: a business key stands in one of body, header and property, not in %d", set)
	}
	if f.Body != "" {
		if _, err := jsonpath.Parse(f.Body); err != nil {
			return fmt.Errorf("dlq: parse path %q: %w", f.Body, err)
		}
	}
	if _, known := keyProperties[f.Property]; f.Property != "" && !known {
		return fmt.Errorf("dlq: %q is no property that can hold a business key", f.Property)
	}
	return nil
}

// BusinessKey returns what the first of finders that yields a value finds in
// d, "" where none does. Numbers keep the text that they have in the body.
// Void, true, false, tables and arrays are no keys, nor is what is blank, longer
// than 1 KiB or not clean text: a key altered to fit would name another payment.
func BusinessKey(d rabbit.Delivery, finders []KeyFinder) string {
	body := lazyJSON{body: d.Body}
	for _, f := range finders {
		var key string
		switch {
		case f.Body != "":
			key = body.find(f.Body)
		case f.Header != "":
			key = scalar(d.Headers[f.Header])
		case f.Property != "":
			if read, ok := keyProperties[f.Property]; ok {
				key = read(d.Properties)
			}
		}
		if usableKey(key) {
			return key
		}
	}
	return ""
}

func usableKey(key string) bool {
	return strings.TrimSpace(key) != "" && len(key) <= maxBusinessKey && clean(key) &&
		!strings.ContainsRune(key, utf8.RuneError)
}

// keyProperties are the properties that can hold a business key.
var keyProperties = map[string]func(rabbit.Properties) string{
	"message_id":     func(p rabbit.Properties) string { return p.MessageID },
	"correlation_id": func(p rabbit.Properties) string { return p.CorrelationID },
	"type":           func(p rabbit.Properties) string { return p.Type },
	"app_id":         func(p rabbit.Properties) string { return p.AppID },
	"user_id":        func(p rabbit.Properties) string { return p.UserID },
	"reply_to":       func(p rabbit.Properties) string { return p.ReplyTo },
}

// scalar returns a header's or a JSON document's value as text, "" where it is
// neither text nor a number.
func scalar(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case json.Number:
		return v.String()
	case int8, uint8, int16, uint16, int32, uint32, int64, int:
		return fmt.Sprint(v)
	case float32:
		return strconv.FormatFloat(float64(v), 'f', -1, 32)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// lazyJSON parses a body when a path is first looked for in it, and once.
type lazyJSON struct {
	body   []byte
	parsed bool
	value  any // nil where the body is no JSON document
}

func (j *lazyJSON) find(path string) string {
	compiled := compile(path)
	if compiled == nil {
		return ""
	}
	if !j.parsed {
		j.parsed, j.value = true, parseJSON(j.body)
	}
	for _, node := range compiled.Select(j.value) {
		if s := scalar(node); s != "" {
			return s
		}
	}
	return ""
}

// parseJSON returns the one JSON document that body is, with numbers as they
// are written, or nil.
func parseJSON(body []byte) any {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if len(body) == 0 || len(body) > maxParsedBody || !utf8.Valid(body) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil
	}
	return value
}

// compiled remembers the paths of the configuration, so that each is parsed
// once and not for each message; nil stands for one that cannot be parsed.
var compiled sync.Map // path text → *jsonpath.Path

func compile(path string) *jsonpath.Path {
	if known, ok := compiled.Load(path); ok {
		return known.(*jsonpath.Path)
	}
	parsed, err := jsonpath.Parse(path)
	if err != nil {
		parsed = nil
	}
	compiled.Store(path, parsed)
	return parsed
}

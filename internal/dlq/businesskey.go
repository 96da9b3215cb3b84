package dlq

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/theory/jsonpath"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

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
	return businessKey(finders, d.Headers, d.Properties, &document{body: d.Body})
}

func businessKey(finders []KeyFinder, h rabbit.Table, p rabbit.Properties, body *document) string {
	for _, f := range finders {
		var key string
		switch {
		case f.Body != "":
			key = body.find(f.Body)
		case f.Header != "":
			key = scalar(h[f.Header])
		case f.Property != "":
			if read, ok := keyProperties[f.Property]; ok {
				key = read(p)
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

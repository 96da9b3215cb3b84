package dlq

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// inner is the message inside an envelope: what its consumer got, and gets
// again by a replay.
type inner struct {
	body       []byte
	properties rabbit.Properties
	headers    rabbit.Table
	problem    string   // why it cannot be had; a Problem constant
	consents   []string // what a replay of it asks for
	warnings   []string
}

// propertyNames are what frameworks call a property when they write it as JSON;
// names are compared without case and separators.
func propertiesFrom(fields map[string]any) (p rabbit.Properties, headers rabbit.Table) {
	for name, value := range fields {
		text, _ := value.(string)
		switch plainName(name) {
		case "contenttype":
			p.ContentType = text
		case "contentencoding":
			p.ContentEncoding = text
		case "deliverymode":
			p.DeliveryMode = smallNumber(value)
		case "priority":
			p.Priority = smallNumber(value)
		case "correlationid":
			p.CorrelationID = text
		case "replyto":
			p.ReplyTo = text
		case "messageid":
			p.MessageID = text
		case "timestamp":
			p.Timestamp = secondsOf(value)
		case "type":
			p.Type = text
		case "appid":
			p.AppID = text
		case "headers":
			headers, _ = amqpOf(value, 0).(rabbit.Table)
		}
	}
	return fitting(p), headers
}

// fitting drops what AMQP cannot carry: a property of more than 255 bytes.
func fitting(p rabbit.Properties) rabbit.Properties {
	for _, s := range []*string{&p.ContentType, &p.ContentEncoding, &p.CorrelationID, &p.ReplyTo, &p.MessageID, &p.Type, &p.AppID} {
		if len(*s) > maxShortString {
			*s = ""
		}
	}
	return p
}

func smallNumber(value any) uint8 {
	n, ok := numberOf(jsonNumber(value))
	if !ok || n < 0 || n > 255 {
		return 0
	}
	return uint8(n)
}

// secondsOf reads a timestamp: AMQP's number of seconds, or a time that a
// library wrote as text.
func secondsOf(value any) int64 {
	if n, ok := numberOf(jsonNumber(value)); ok {
		return n
	}
	text, _ := value.(string)
	if m := momentIn(text, time.Unix(1<<40, 0)); !m.at.IsZero() {
		return m.at.Unix()
	}
	return 0
}

func jsonNumber(value any) any {
	if n, ok := value.(json.Number); ok {
		return n.String()
	}
	if b, ok := value.(bool); ok && b {
		return int64(1)
	}
	return value
}

// maxHeaderDepth is how deeply headers nest: as deeply as the client reads them.
const maxHeaderDepth = 32

// amqpOf turns a value of JSON into one that AMQP carries. JSON does not say
// which integer or float it was: it becomes the widest.
func amqpOf(value any, depth int) any {
	if depth > maxHeaderDepth {
		return nil
	}
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		t := rabbit.Table{}
		for name, value := range v {
			if len(name) <= maxShortString {
				t[name] = amqpOf(value, depth+1)
			}
		}
		return t
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = amqpOf(v[i], depth+1)
		}
		return list
	}
	return value // text, bool and null are the same in both
}

// fromBase64 returns the bytes that text is the base64 form of; ok is false
// where it is none.
func fromBase64(text string) ([]byte, bool) {
	clean := strings.NewReplacer("\n", "", "\r", "").Replace(text) // Ruby breaks lines
	raw, err := base64.StdEncoding.Strict().DecodeString(clean)
	return raw, err == nil && len(clean) > 0
}

// isPrintable says whether b is text that a person could have written.
func isPrintable(b []byte) bool {
	return utf8.Valid(b) && !bytes.ContainsFunc(b, func(r rune) bool {
		return r == utf8.RuneError || unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r'
	})
}

// fieldsOf reads a JSON object, nil where text is none.
func fieldsOf(text []byte) map[string]any {
	fields, _ := parseJSON(text).(map[string]any)
	return fields
}

package rabbit

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// text is a property in JSON: a string, or {"b64":"…"} where jsonb cannot hold
// the string as it is.
type text string

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	if clean(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string]string{"b64": base64.StdEncoding.EncodeToString([]byte(t))})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '{' {
		return json.Unmarshal(data, (*string)(t))
	}
	var escaped struct {
		B64 []byte `json:"b64"`
	}
	if err := json.Unmarshal(data, &escaped); err != nil {
		return err
	}
	*t = text(escaped.B64)
	return nil
}

// propertiesJSON is how Properties are stored.
type propertiesJSON struct {
	ContentType     text  `json:"content_type,omitempty"`
	ContentEncoding text  `json:"content_encoding,omitempty"`
	DeliveryMode    uint8 `json:"delivery_mode,omitempty"`
	Priority        uint8 `json:"priority,omitempty"`
	CorrelationID   text  `json:"correlation_id,omitempty"`
	ReplyTo         text  `json:"reply_to,omitempty"`
	Expiration      text  `json:"expiration,omitempty"`
	MessageID       text  `json:"message_id,omitempty"`
	Timestamp       int64 `json:"timestamp,omitempty"`
	Type            text  `json:"type,omitempty"`
	UserID          text  `json:"user_id,omitempty"`
	AppID           text  `json:"app_id,omitempty"`
}

// EncodeProperties writes the properties that are present as JSON that jsonb
// accepts. It fails for none.
func EncodeProperties(p Properties) ([]byte, error) {
	data, err := json.Marshal(propertiesJSON{
		ContentType: text(p.ContentType), ContentEncoding: text(p.ContentEncoding),
		DeliveryMode: p.DeliveryMode, Priority: p.Priority,
		CorrelationID: text(p.CorrelationID), ReplyTo: text(p.ReplyTo), Expiration: text(p.Expiration),
		MessageID: text(p.MessageID), Timestamp: p.Timestamp, Type: text(p.Type),
		UserID: text(p.UserID), AppID: text(p.AppID),
	})
	if err != nil {
		return nil, fmt.Errorf("rabbit: encode properties: %w", err)
	}
	return data, nil
}

// DecodeProperties reads what EncodeProperties wrote.
func DecodeProperties(data []byte) (Properties, error) {
	var p propertiesJSON
	if err := json.Unmarshal(data, &p); err != nil {
		return Properties{}, fmt.Errorf("rabbit: decode properties: %w", err)
	}
	return Properties{
		ContentType: string(p.ContentType), ContentEncoding: string(p.ContentEncoding),
		DeliveryMode: p.DeliveryMode, Priority: p.Priority,
		CorrelationID: string(p.CorrelationID), ReplyTo: string(p.ReplyTo), Expiration: string(p.Expiration),
		MessageID: string(p.MessageID), Timestamp: p.Timestamp, Type: string(p.Type),
		UserID: string(p.UserID), AppID: string(p.AppID),
	}, nil
}

// Pair is a property in words.
type Pair = struct{ Name, Value string }

// Pairs returns the properties that are present, in the order of the AMQP
// specification. A value that is no clean text is shown with escapes.
func (p Properties) Pairs() []Pair {
	all := []Pair{
		{"content_type", shown(p.ContentType)},
		{"content_encoding", shown(p.ContentEncoding)},
		{"delivery_mode", shownMode(p.DeliveryMode)},
		{"priority", shownNumber(int64(p.Priority))},
		{"correlation_id", shown(p.CorrelationID)},
		{"reply_to", shown(p.ReplyTo)},
		{"expiration", shown(p.Expiration)},
		{"message_id", shown(p.MessageID)},
		{"timestamp", shownTime(p.Timestamp)},
		{"type", shown(p.Type)},
		{"user_id", shown(p.UserID)},
		{"app_id", shown(p.AppID)},
	}
	present := all[:0]
	for _, pair := range all {
		if pair.Value != "" {
			present = append(present, pair)
		}
	}
	return present
}

func shown(s string) string {
	if clean(s) {
		return s
	}
	return strconv.QuoteToASCII(s)
}

func shownNumber(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func shownMode(mode uint8) string {
	switch mode {
	case amqp.Transient:
		return "1 (transient)"
	case amqp.Persistent:
		return "2 (persistent)"
	}
	return shownNumber(int64(mode))
}

// shownTime falls back to the bare number where a producer wrote milliseconds
// into the field for seconds, which gives years that nobody can read.
func shownTime(seconds int64) string {
	t := time.Unix(seconds, 0).UTC()
	if seconds == 0 || t.Year() < 1 || t.Year() > 9999 {
		return shownNumber(seconds)
	}
	return t.Format(time.RFC3339)
}

// propertiesOf takes the properties out of a delivery.
func propertiesOf(d amqp.Delivery) Properties {
	p := Properties{
		ContentType: d.ContentType, ContentEncoding: d.ContentEncoding,
		DeliveryMode: d.DeliveryMode, Priority: d.Priority,
		CorrelationID: d.CorrelationId, ReplyTo: d.ReplyTo, Expiration: d.Expiration,
		MessageID: d.MessageId, Type: d.Type, UserID: d.UserId, AppID: d.AppId,
	}
	if !d.Timestamp.IsZero() {
		p.Timestamp = d.Timestamp.Unix()
	}
	return p
}

// publishing is m as the client library takes it.
func publishing(m Message) amqp.Publishing {
	p := m.Properties
	out := amqp.Publishing{
		Headers:     m.Headers,
		ContentType: p.ContentType, ContentEncoding: p.ContentEncoding,
		DeliveryMode: p.DeliveryMode, Priority: p.Priority,
		CorrelationId: p.CorrelationID, ReplyTo: p.ReplyTo, Expiration: p.Expiration,
		MessageId: p.MessageID, Type: p.Type, UserId: p.UserID, AppId: p.AppID,
		Body: m.Body,
	}
	if p.Timestamp != 0 {
		out.Timestamp = time.Unix(p.Timestamp, 0)
	}
	return out
}

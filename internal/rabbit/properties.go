package rabbit

import (
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

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

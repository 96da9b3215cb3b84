package rabbit

import (
	"errors"
	"fmt"
	"math"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// frameOverhead is what AMQP puts around the payload of a frame.
	frameOverhead = 8
	// contentOverhead is class, weight, body size and flags of a content header.
	contentOverhead = 14
	// maxShort is the longest name, key or property in bytes.
	maxShort = 255
	// deathRoom is kept free in the header frame. A broker writes its own
	// headers when the message dies again; past the limit it would end every
	// connection that tries to read it.
	deathRoom = 4096
)

// checkMessage says why m cannot be sent to a broker that takes frames of
// frameMax bytes (0: any), or nil. A broker answers such a message by closing
// the whole connection, or never sees it.
func checkMessage(m Message, frameMax int) error {
	if err := checkShorts(m); err != nil {
		return err
	}
	size, err := headerSize(m)
	if err != nil {
		return err
	}
	if limit := frameMax - frameOverhead - deathRoom; frameMax > 0 && size > limit {
		return fmt.Errorf("headers and properties take %d bytes and the broker's frame leaves %d", size, limit)
	}
	return nil
}

func checkShorts(m Message) error {
	p := m.Properties
	for _, short := range []Pair{
		{"exchange", m.Exchange},
		{"routing key", m.RoutingKey},
		{"content_type", p.ContentType},
		{"content_encoding", p.ContentEncoding},
		{"correlation_id", p.CorrelationID},
		{"reply_to", p.ReplyTo},
		{"expiration", p.Expiration},
		{"message_id", p.MessageID},
		{"type", p.Type},
		{"user_id", p.UserID},
		{"app_id", p.AppID},
	} {
		if len(short.Value) > maxShort {
			return fmt.Errorf("%s is %d bytes long and AMQP takes %d", short.Name, len(short.Value), maxShort)
		}
	}
	return nil
}

// headerSize returns the size of m's content header, or an error where a
// header is none that RabbitMQ takes. It counts absent properties as if present.
func headerSize(m Message) (int, error) {
	p := m.Properties
	size := contentOverhead + 2 + 8
	for _, s := range []string{
		p.ContentType, p.ContentEncoding, p.CorrelationID, p.ReplyTo, p.Expiration,
		p.MessageID, p.Type, p.UserID, p.AppID,
	} {
		size += 1 + len(s)
	}
	table, err := tableSize(m.Headers)
	return size + table, err
}

func tableSize(t Table) (int, error) {
	size := 4
	for name, value := range t {
		if len(name) > maxShort {
			return 0, fmt.Errorf("a header name is %d bytes long and AMQP takes %d", len(name), maxShort)
		}
		n, err := fieldSize(value)
		if err != nil {
			return 0, fmt.Errorf("header %q: %w", name, err)
		}
		size += 1 + len(name) + n
	}
	return size, nil
}

func fieldSize(value any) (int, error) {
	switch v := value.(type) {
	case nil:
		return 1, nil
	case bool, int8, uint8:
		return 2, nil
	case int16, uint16:
		return 3, nil
	case int, int32, uint32:
		return 5, nil
	case float32:
		return 5, checkFinite(float64(v))
	case float64:
		return 9, checkFinite(v)
	case amqp.Decimal:
		return 6, nil
	case int64, time.Time:
		return 9, nil
	case string:
		return 5 + len(v), nil
	case []byte:
		return 5 + len(v), nil
	case Table:
		n, err := tableSize(v)
		return 1 + n, err
	case []any:
		size := 5
		for _, element := range v {
			n, err := fieldSize(element)
			if err != nil {
				return 0, err
			}
			size += n
		}
		return size, nil
	}
	return 0, fmt.Errorf("AMQP has no type for %T", value)
}

// checkFinite keeps back numbers that RabbitMQ cannot read: it closes the whole
// connection with an internal error.
func checkFinite(v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return errors.New("RabbitMQ does not take NaN or infinite numbers")
	}
	return nil
}

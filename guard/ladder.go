package guard

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Headers that a copy on the ladder carries.
const (
	HeaderRetryCount         = "x-retry-count"
	HeaderOriginalQueue      = "x-original-queue"
	HeaderOriginalExchange   = "x-original-exchange"
	HeaderOriginalRoutingKey = "x-original-routingKey"
	HeaderExceptionType      = "x-exception-type"
	HeaderExceptionMessage   = "x-exception-message"
)

// maxMessage bounds an error's text in headers and hashes: a header frame
// that is too large cannot be read by anybody.
const maxMessage = 1000

// Address is where a copy is published. It must lead to a queue: what cannot
// be routed is not taken for sent.
type Address struct {
	Exchange   string
	RoutingKey string
}

// Ladder says where a message goes when its run failed: from tier to tier
// (the last one again and again), and at the Max-th failed run to Terminal.
type Ladder struct {
	Tiers    []Address
	Terminal Address
	Max      int // 5 unless said
}

func (l Ladder) check() error {
	switch {
	case l.Terminal == Address{}:
		return errors.New("guard: ladder: a terminal address is required")
	case l.Max < 1:
		return fmt.Errorf("guard: ladder: Max %d is less than 1", l.Max)
	case len(l.Tiers) == 0 && l.Max > 1:
		return errors.New("guard: ladder: tiers are required where Max is more than 1")
	}
	return nil
}

// next returns where a message goes after its failed-th failed run.
func (l Ladder) next(failed int, cause error) Address {
	if failed >= l.Max || final(cause) {
		return l.Terminal
	}
	return l.Tiers[min(failed, len(l.Tiers))-1]
}

// failedRuns reads how many runs of a message failed so far, whatever number
// type the header has; what is no number, or below 0, counts as 0.
func failedRuns(h amqp.Table) int {
	var n float64
	switch v := h[HeaderRetryCount].(type) {
	case int8:
		n = float64(v)
	case uint8:
		n = float64(v)
	case int16:
		n = float64(v)
	case uint16:
		n = float64(v)
	case int32:
		n = float64(v)
	case uint32:
		n = float64(v)
	case int64:
		n = float64(v)
	case float32:
		n = float64(v)
	case float64:
		n = v
	case amqp.Decimal:
		n = float64(v.Value) / math.Pow10(int(v.Scale))
	case string:
		n, _ = strconv.ParseFloat(v, 64)
	}
	if !(n > 0) { // also NaN
		return 0
	}
	return int(min(n, math.MaxInt32))
}

// climb makes the copy of d that goes to the ladder after its failed-th failed
// run. Body, properties and headers stay as they came, but for what the
// package doc names. Where the message first came from is written once and
// kept; the exception is always that of the last run.
func climb(d amqp.Delivery, queue string, failed int, cause error) amqp.Publishing {
	h := maps.Clone(d.Headers)
	if h == nil {
		h = amqp.Table{}
	}
	for _, name := range []string{"CC", "BCC", "x-delivery-count", "x-acquired-count"} {
		delete(h, name)
	}
	if h[HeaderOriginalQueue] != queue {
		h[HeaderOriginalQueue] = queue
		h[HeaderOriginalExchange] = d.Exchange
		h[HeaderOriginalRoutingKey] = d.RoutingKey
	}
	h[HeaderRetryCount] = int64(failed)
	h[HeaderExceptionType] = bounded(typeOf(cause), maxMessage)
	h[HeaderExceptionMessage] = bounded(cause.Error(), maxMessage)
	return amqp.Publishing{
		Headers:         h,
		ContentType:     d.ContentType,
		ContentEncoding: d.ContentEncoding,
		DeliveryMode:    amqp.Persistent,
		Priority:        d.Priority,
		CorrelationId:   d.CorrelationId,
		ReplyTo:         d.ReplyTo,
		MessageId:       d.MessageId,
		Timestamp:       d.Timestamp,
		Type:            d.Type,
		AppId:           d.AppId,
		Body:            d.Body,
	}
}

// bounded returns s as clean UTF-8 without NUL, cut to at most n bytes.
func bounded(s string, n int) string {
	s = strings.ReplaceAll(s, "\x00", "")
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}

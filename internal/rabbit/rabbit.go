// Package rabbit is the console's way to a RabbitMQ broker: a consumer that
// hands out windows of deliveries, a publisher that knows what became of each
// message, questions about queues, and a codec that keeps every AMQP value
// with its type. It decides nothing about dead letters; see packages dlq and
// replay for that.
package rabbit

import (
	"errors"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Table is a set of AMQP headers, with Go types as package amqp091 gives them.
type Table = amqp.Table

// Errors that callers tell apart.
var (
	// ErrQueueMissing: the broker has no such queue.
	ErrQueueMissing = errors.New("no such queue")
	// ErrUnavailable: the broker cannot be reached, or refuses the connection.
	ErrUnavailable = errors.New("broker unavailable")
	// ErrReturned: the broker could route the message to no queue; it is not there.
	ErrReturned = errors.New("returned as unroutable")
	// ErrRefused: the broker refused the message (nack or channel error); it is not there.
	ErrRefused = errors.New("refused by the broker")
	// ErrBlocked: the broker blocks publishers (memory or disk alarm); nothing was sent.
	ErrBlocked = errors.New("broker blocks publishers")
	// ErrUnknown: the connection was lost, or the confirm did not come in time.
	// The message may or may not be there.
	ErrUnknown = errors.New("not known whether the broker took the message")
	// ErrPoison: the broker delivers a message that the client library cannot
	// read: its headers outgrew a frame, nest deeper than 32 levels or have more
	// than 8,192 elements. It ends every connection that reads that queue, and
	// stays at the head of the queue.
	ErrPoison = errors.New("a message in the queue cannot be read")
)

// Properties are the basic properties of a message, as they came. An empty
// value stands for absent: the client library cannot tell the two apart.
type Properties struct {
	ContentType     string
	ContentEncoding string
	DeliveryMode    uint8
	Priority        uint8
	CorrelationID   string
	ReplyTo         string
	Expiration      string
	MessageID       string
	Timestamp       int64 // seconds since 1970; 0: absent
	Type            string
	UserID          string
	AppID           string
}

// Delivery is one message as the broker delivered it.
type Delivery struct {
	Tag         uint64
	Redelivered bool
	Exchange    string
	RoutingKey  string
	Properties  Properties
	Headers     Table
	Body        []byte

	// RawHeaders are the bytes of a header table that the client library cannot
	// read, and Unreadable says why; Headers is nil then.
	RawHeaders []byte
	Unreadable string
}

// Message is one message to publish.
type Message struct {
	Exchange   string
	RoutingKey string
	Properties Properties
	Headers    Table
	Body       []byte
}

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
	// ErrPoison: the broker delivers a message that cannot be read: its headers
	// take a frame larger than the consumer's limit, or the frame is malformed. It
	// ends every connection that reads that queue, and stays at the head of the
	// queue.
	ErrPoison = errors.New("a message in the queue cannot be read")
)

// Reasons for which a broker gives nothing, where it says one. Each is
// ErrUnavailable too.
var (
	// ErrUnreachable: no answer of a broker came: its name is unknown, nobody
	// listens there, TLS failed, or it took too long. No setting of the broker is
	// to blame.
	ErrUnreachable = errors.New("broker unreachable")
	// ErrAccessRefused: the broker does not let the user do this: the name or the
	// password is wrong (some brokers then drop the connection without a word), it
	// has no access to the virtual host, or no permission for the queue any more.
	// An operator of the broker has to grant it.
	ErrAccessRefused = errors.New("access refused")
	// ErrVhostMissing: the broker has no such virtual host (any more).
	ErrVhostMissing = errors.New("no such virtual host")
	// ErrVhostDown: the virtual host is there, but its processes do not run. An
	// operator of the broker has to look at its log and restart the virtual host.
	ErrVhostDown = errors.New("virtual host is down")
	// ErrLimit: the broker takes no more connections or channels, in all, of the
	// user or of the virtual host.
	ErrLimit = errors.New("limit of the broker is reached")
	// ErrLocked: another connection has the queue for itself: it is an exclusive
	// queue, or a classic one that has an exclusive consumer. It is free when that
	// one is gone. A quorum queue with an exclusive consumer, and a queue with a
	// single active consumer, is no error: others wait.
	ErrLocked = errors.New("queue is in exclusive use by another connection")
	// ErrWrongType: the queue is a stream. It does not forget what is acked, so
	// that it cannot be drained.
	ErrWrongType = errors.New("queue is a stream")
	// ErrConsumerTimeout: a window was held for longer than the broker's
	// consumer_timeout, and the broker took it back.
	ErrConsumerTimeout = errors.New("held for longer than the broker allows")
	// ErrCancelled: the broker ended the subscription though the queue is there
	// still: its leader moved, a node went down, or it is being deleted. To
	// subscribe again may help.
	ErrCancelled = errors.New("the broker ended the subscription")
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

	// RawHeaders are the header table's bytes as the broker sent them, with its
	// length in front: names in their order, and twice where they came twice. nil:
	// the message has no table. Unreadable says why they cannot be read, or not
	// without taking a multiple of their size in memory; Headers is nil then.
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

package guard

import (
	"log/slog"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Values of the attribute "event", one for each kind of line that a team
// watches for. No line ever holds a body.
const (
	EventKeyAcquired = "key_acquired" // key and TTL
	EventChecked     = "key_checked"  // result FIRST, DUPLICATE, HELD or UNREADABLE
	EventSkipped     = "skipped"      // why the handler was not called, or did nothing
	EventDegraded    = "degraded"     // why the guard does less than it should
	EventKeyCleared  = "key_cleared"  // what became of the key after a failed run
	EventRunFailed   = "run_failed"   // where the message goes now
)

// results are the words of EventChecked.
var results = map[Answer]string{First: "FIRST", Done: "DUPLICATE", HeldByOther: "HELD", Unreadable: "UNREADABLE"}

// about begins the attributes of a line with what every line has.
func (c *Consumer) about(event string, attrs ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{slog.String("event", event), slog.String("consumer", c.o.Name)}, attrs...)
}

// attrsOf names a delivery in a log line.
func attrsOf(d amqp.Delivery, businessKey string) []slog.Attr {
	attrs := []slog.Attr{slog.String("business_key", businessKey), slog.String("message_id", d.MessageId)}
	if r, ok := replayOf(d); ok {
		attrs = append(attrs, slog.String("dlo_message_id", r.messageID), slog.String("dlo_replay_id", r.replayID))
	}
	return attrs
}

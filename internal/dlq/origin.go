package dlq

import (
	"strings"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// originOf decides where the message was consumed: what is configured, else
// what a framework wrote, else what the broker's history shows, else the one
// header that outlives a broken history, else what the terminal queue's name
// says. The terminal queue itself is never the answer: a replay would come
// straight back. It also returns the history's entry for that queue, nil where
// there is none.
func originOf(s Source, told found, history []death, h rabbit.Table) (Origin, *death) {
	var o Origin
	entry := whereConsumed(history, s.Queue)
	switch {
	case s.OriginalQueue != "":
		o.Queue, o.Evidence = s.OriginalQueue, OriginConfigured
		entry = deathIn(history, o.Queue)
	case told.queue != nil && *told.queue != "" && *told.queue != s.Queue:
		o.Queue, o.Evidence = *told.queue, OriginFramework
		entry = deathIn(history, o.Queue)
	case entry != nil:
		o.Queue, o.Evidence = entry.queue, OriginXDeath
	default:
		o.Queue, o.Evidence = originWithoutHistory(s.Queue, told, len(history) > 0, h)
	}
	o.Exchange, o.RoutingKey = told.exchange, told.routingKey
	if o.Exchange == nil && o.RoutingKey == nil && entry != nil {
		o.Exchange, o.RoutingKey = entry.cameBy()
	}
	return o, entry
}

func originWithoutHistory(terminal string, told found, history bool, h rabbit.Table) (queue, evidence string) {
	if !history { // else it shows no more than these do
		if q := shortOf(h["x-last-death-queue"]); q != nil && isConsumer(reasonOf(h["x-last-death-reason"])) && *q != terminal {
			return *q, OriginXDeath
		}
		if q := shortOf(h["x-first-death-queue"]); q != nil && *q != terminal && *q != "" && !isWaitName(*q) {
			return *q, OriginXDeath
		}
	}
	if q := firstOf(told.named, queueByName(terminal)); q != "" {
		return q, OriginQueueName
	}
	return "", ""
}

// deadSuffixes are how frameworks call the queue for the dead letters of
// another: MassTransit's two, that of Sneakers and that of Dramatiq.
var deadSuffixes = []string{"_error", "_skipped", "-error", ".XQ"}

// queueByName returns the queue whose dead letters a terminal queue holds by
// its name, "" where the name follows no rule.
func queueByName(terminal string) string {
	for _, suffix := range deadSuffixes {
		if q, ok := strings.CutSuffix(terminal, suffix); ok {
			return q
		}
	}
	return binderQueue(terminal)
}

// binderQueue returns the consumer queue of Spring Cloud Stream that a
// terminal queue named <destination>.<group>.dlq belongs to, else "".
func binderQueue(terminal string) string {
	q, ok := strings.CutSuffix(terminal, ".dlq")
	if !ok || strings.IndexByte(q, '.') <= 0 || strings.HasSuffix(q, ".") {
		return ""
	}
	return q
}

// waitWords are words in the names of queues in which messages only wait to
// expire, as frameworks and people call them.
var waitWords = []string{"wait", "delay", "retry", "retries", "parking", ".dq", "backoff"}

func isWaitName(queue string) bool {
	lower := strings.ToLower(queue)
	for _, word := range waitWords {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}

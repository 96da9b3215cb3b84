package dlq

import (
	"math"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// maxDeaths bounds how many entries of a history are looked at.
const maxDeaths = 256

// death is one entry of x-death: what one queue did for one reason, however
// often. at is the time of the first of these deaths; the broker does not tell
// the time of the later ones.
type death struct {
	queue  string
	reason Reason
	count  int64
	at     moment
	entry  rabbit.Table
}

// deathsOf returns the broker's history of a message, newest first. Whatever
// is not of the expected shape is left out; an entry that stands alone, without
// its array, counts.
func deathsOf(value any, arrived time.Time) []death {
	var all []death
	switch v := value.(type) {
	case []any:
		v = v[:min(len(v), maxDeaths)]
		all = make([]death, 0, len(v))
		for _, e := range v {
			all = appendDeath(all, e, arrived)
		}
	case rabbit.Table:
		all = appendDeath(nil, v, arrived)
	}
	return all
}

func appendDeath(all []death, value any, arrived time.Time) []death {
	t, ok := value.(rabbit.Table)
	if !ok {
		return all
	}
	queue, ok := textOf(t["queue"])
	if !ok || queue == "" || len(queue) > maxShortString {
		return all
	}
	return append(all, death{
		queue: queue, reason: reasonOf(t["reason"]), count: deathCount(t["count"]), at: momentOf(t["time"], arrived), entry: t,
	})
}

// deathCount is at least 1: an entry stands for a death.
func deathCount(value any) int64 {
	n, ok := numberOf(value)
	if !ok {
		return 1
	}
	return max(1, n)
}

// cameBy returns how a message had come to the queue of d, as far as a replay
// may use it.
func (d *death) cameBy() (exchange, routingKey *string) {
	keys, _ := d.entry["routing-keys"].([]any)
	if len(keys) > 0 {
		routingKey = exactOf(keys[0])
	}
	return exactOf(d.entry["exchange"]), routingKey
}

func reasonOf(value any) Reason {
	s, _ := textOf(value)
	switch r := Reason(s); r {
	case Rejected, Expired, MaxLen, DeliveryLimit:
		return r
	}
	return OtherReason
}

// isConsumer says whether a reason tells that somebody consumed from the queue.
func isConsumer(r Reason) bool { return r == Rejected || r == DeliveryLimit }

// whereConsumed returns the entry of the queue that a consumer took the message
// from. A refusal, or the limit of deliveries, proves a consumer: of several
// the broker's newest. Where nothing proves one, queues remain that dropped the
// message for their length or their age; of these, those are out that waited
// only, by their name or because they also let messages expire while another
// did not. The answer is what remains, if it is one queue; else it is nil: the
// order of entries says nothing about who consumed. Entries of the terminal
// queue itself do not count.
func whereConsumed(all []death, terminal string) *death {
	for i := range all {
		if isConsumer(all[i].reason) && all[i].queue != terminal {
			return &all[i]
		}
	}
	if d, one := onlyQueue(all, func(d *death) bool {
		return d.queue != terminal && !isWaitName(d.queue) && !expiredIn(all, d.queue)
	}); one {
		return d
	}
	d, one := onlyQueue(all, func(d *death) bool { return d.queue != terminal && !isWaitName(d.queue) })
	if !one {
		return nil
	}
	return d
}

// onlyQueue returns the newest of the entries that may be, where all of them
// are of one queue.
func onlyQueue(all []death, may func(*death) bool) (*death, bool) {
	var only *death
	for i := range all {
		switch {
		case !may(&all[i]):
		case only == nil:
			only = &all[i]
		case only.queue != all[i].queue:
			return nil, false
		}
	}
	return only, only != nil
}

func expiredIn(all []death, queue string) bool {
	for i := range all {
		if all[i].reason == Expired && all[i].queue == queue {
			return true
		}
	}
	return false
}

// deathIn returns the newest entry of a queue, or nil.
func deathIn(all []death, queue string) *death {
	for i := range all {
		if all[i].queue == queue {
			return &all[i]
		}
	}
	return nil
}

// timesDiedIn returns how often a message died in a queue, for any reason, or
// nil where the history does not name that queue.
func timesDiedIn(all []death, queue string) *int64 {
	var sum int64
	for i := range all {
		if all[i].queue != queue {
			continue
		}
		if all[i].count > math.MaxInt64-sum {
			sum = math.MaxInt64
			break
		}
		sum += all[i].count
	}
	if sum == 0 {
		return nil
	}
	return &sum
}

// firstAndLast returns when a message first died, and when it last did. The
// last is known only where the newest entry stands for a single death: the
// broker keeps the time of the first one of each entry.
func firstAndLast(all []death) (first, last moment) {
	for i := range all {
		switch at := all[i].at; {
		case at.at.IsZero():
			first.said = firstOf(first.said, at.said)
		case first.at.IsZero() || at.at.Before(first.at):
			first.at = at.at
		}
	}
	if len(all) > 0 && all[0].count == 1 {
		last = all[0].at
	}
	return first, last
}

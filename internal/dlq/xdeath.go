package dlq

import (
	"math"
	"slices"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// maxDeaths bounds how many entries of a history are looked at.
const maxDeaths = 1000

// death is one entry of x-death: what one queue did for one reason, however
// often. at is the time of the first of these deaths; the broker does not tell
// the time of the later ones.
type death struct {
	queue      string
	reason     Reason
	count      int64
	at         time.Time // zero where unknown or impossible
	exchange   *string
	routingKey *string
}

// deathsOf returns the broker's history of a message, newest first. Whatever
// is not of the expected shape is left out.
func deathsOf(h rabbit.Table, arrived time.Time) []death {
	entries, _ := h["x-death"].([]any)
	var all []death
	for _, e := range entries[:min(len(entries), maxDeaths)] {
		t, ok := e.(rabbit.Table)
		if !ok {
			continue
		}
		queue := shortOf(t["queue"])
		if queue == nil {
			continue
		}
		all = append(all, death{
			queue:      *queue,
			reason:     reasonOf(t["reason"]),
			count:      max(1, valueOr(countOf(t["count"]), 1)),
			at:         possibleTime(t["time"], arrived),
			exchange:   exactOf(t["exchange"]),
			routingKey: firstKey(t["routing-keys"]),
		})
	}
	return all
}

func firstKey(value any) *string {
	keys, _ := value.([]any)
	if len(keys) == 0 {
		return nil
	}
	return exactOf(keys[0])
}

func reasonOf(value any) Reason {
	s, _ := textOf(value)
	switch r := Reason(s); r {
	case Rejected, Expired, MaxLen, DeliveryLimit:
		return r
	}
	return OtherReason
}

// possibleTime returns a time that a death may have had, else the zero time:
// producers with a broken clock, and seconds that are milliseconds, give times
// in 1970 or in the far future.
func possibleTime(value any, arrived time.Time) time.Time {
	t, ok := value.(time.Time)
	if !ok || t.Year() < 2000 || t.After(arrived.Add(24*time.Hour)) {
		return time.Time{}
	}
	return t.UTC()
}

// whereConsumed returns the entry of the queue that a consumer took the
// message from: the newest whose reason is a refusal or a limit, and whose
// queue is not one in which messages wait to expire; else the newest such one
// of any queue; else the oldest. Entries of the terminal queue itself do not
// count. It returns nil where there is none.
func whereConsumed(all []death, terminal string) *death {
	waits := map[string]bool{terminal: true}
	for _, d := range all {
		if d.reason == Expired {
			waits[d.queue] = true
		}
	}
	refused := func(d death) bool {
		return d.reason == Rejected || d.reason == DeliveryLimit || d.reason == MaxLen
	}
	if i := slices.IndexFunc(all, func(d death) bool { return refused(d) && !waits[d.queue] }); i >= 0 {
		return &all[i]
	}
	if i := slices.IndexFunc(all, func(d death) bool { return refused(d) && d.queue != terminal }); i >= 0 {
		return &all[i]
	}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].queue != terminal {
			return &all[i]
		}
	}
	return nil
}

// deathIn returns the newest entry of a queue, or nil.
func deathIn(all []death, queue string) *death {
	i := slices.IndexFunc(all, func(d death) bool { return d.queue == queue })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// timesDiedIn returns how often a message died in a queue, for any reason, or
// nil where the history does not name that queue.
func timesDiedIn(all []death, queue string) *int64 {
	var sum int64
	for _, d := range all {
		if d.queue != queue {
			continue
		}
		if d.count > math.MaxInt64-sum {
			sum = math.MaxInt64
			break
		}
		sum += d.count
	}
	if sum == 0 {
		return nil
	}
	return &sum
}

// firstAndLast returns when a message first died, and when it last did. The
// last is known only where the newest entry stands for a single death: the
// broker keeps the time of the first one of each entry.
func firstAndLast(all []death) (first, last time.Time) {
	for _, d := range all {
		if !d.at.IsZero() && (first.IsZero() || d.at.Before(first)) {
			first = d.at
		}
	}
	if len(all) > 0 && all[0].count == 1 {
		last = all[0].at
	}
	return first, last
}

func valueOr(n *int64, other int64) int64 {
	if n == nil {
		return other
	}
	return *n
}

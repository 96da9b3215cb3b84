package dlq

import (
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// Places that an original queue may be known from.
const (
	OriginConfigured = "configured"
	OriginFramework  = "framework"
	OriginXDeath     = "x-death"
)

// brokerExtractor names the broker's own history where no framework left word.
const brokerExtractor = "x-death"

// extractor reads the failure headers that one framework leaves on a message.
// It takes headers of any shape and never panics.
type extractor interface {
	name() string
	extract(h rabbit.Table) found
}

// extractors are asked in this order: exact names before guesses.
var extractors = []extractor{guardHeaders{}, springHeaders{}, genericHeaders{}}

// found is what an extractor read; what it did not find is zero or nil.
type found struct {
	failure    Failure // Extractor is filled in by gather
	retries    *int64
	queue      *string
	exchange   *string
	routingKey *string
	firstQueue *string // the broker's x-first-death-queue, where it is left alone
}

// Extract works out why and where d died from its headers and properties. It
// never fails: what is missing or malformed is unknown. arrived is when the
// console received d; it bounds which times are possible.
func Extract(d rabbit.Delivery, s Source, arrived time.Time) Facts {
	told := gather(d.Headers)
	history := deathsOf(d.Headers, arrived)
	origin, entry := originOf(s, told, history)
	f := Facts{
		BusinessKey: BusinessKey(d, s.BusinessKey),
		Reason:      brokerReason(d.Headers, entry, history),
		Failure:     told.failure,
		Original:    origin,
	}
	f.FirstDiedAt, f.DiedAt = firstAndLast(history)
	f.RetryCount, f.RetryCountSource = retriesOf(d.Headers, told, history, origin.Queue)
	if f.Failure.Extractor == "" && len(history) > 0 {
		f.Failure.Extractor = brokerExtractor
	}
	return f
}

// gather asks all extractors: the first that knows a thing is believed. The
// parts of a failure, and exchange with routing key, stay together.
func gather(h rabbit.Table) found {
	all := found{firstQueue: shortOf(h["x-first-death-queue"])}
	for _, e := range extractors {
		one := e.extract(h)
		if all.failure == (Failure{}) && one.failure != (Failure{}) {
			all.failure = bounded(one.failure)
			all.failure.Extractor = e.name()
		}
		if all.retries == nil {
			all.retries = one.retries
		}
		if all.queue == nil {
			all.queue = one.queue
		}
		if all.exchange == nil && all.routingKey == nil {
			all.exchange, all.routingKey = one.exchange, one.routingKey
		}
	}
	return all
}

func bounded(f Failure) Failure {
	f.Type = cut(f.Type, maxFailureType)
	f.Message = cut(f.Message, maxFailureMessage)
	f.Stack = cut(f.Stack, maxFailureStack)
	return f
}

// originOf decides where the message was consumed: what is configured, else
// what a framework wrote, else what the broker's history shows, or the one
// header that outlives a broken history. It also returns the history's entry for that queue, nil where there is none.
func originOf(s Source, told found, history []death) (Origin, *death) {
	var o Origin
	entry := whereConsumed(history, s.Queue)
	switch {
	case s.OriginalQueue != "":
		o.Queue, o.Evidence = s.OriginalQueue, OriginConfigured
		entry = deathIn(history, o.Queue)
	case told.queue != nil && *told.queue != "":
		o.Queue, o.Evidence = *told.queue, OriginFramework
		entry = deathIn(history, o.Queue)
	case entry != nil:
		o.Queue, o.Evidence = entry.queue, OriginXDeath
	case told.firstQueue != nil && *told.firstQueue != s.Queue:
		o.Queue, o.Evidence = *told.firstQueue, OriginXDeath
	}
	o.Exchange, o.RoutingKey = told.exchange, told.routingKey
	if o.Exchange == nil && o.RoutingKey == nil && entry != nil {
		o.Exchange, o.RoutingKey = entry.exchange, entry.routingKey
	}
	return o, entry
}

// brokerReason is why the message left the queue it was consumed from; where
// the history does not show that queue, why it was dead-lettered last.
func brokerReason(h rabbit.Table, entry *death, history []death) Reason {
	switch {
	case entry != nil:
		return entry.reason
	case len(history) > 0:
		return history[0].reason
	case h["x-first-death-reason"] != nil:
		return reasonOf(h["x-first-death-reason"])
	}
	return NoReason
}

// retriesOf returns how often the message was tried, by the best source there
// is, and that source.
func retriesOf(h rabbit.Table, told found, history []death, queue string) (*int64, string) {
	if told.retries != nil {
		return told.retries, RetriesFromFramework
	}
	if n := timesDiedIn(history, queue); queue != "" && n != nil {
		return n, RetriesFromXDeath
	}
	if n := countOf(h["x-delivery-count"]); n != nil {
		return n, RetriesFromDeliveryCount
	}
	return nil, ""
}

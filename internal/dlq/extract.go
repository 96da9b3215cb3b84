package dlq

import (
	"sync"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// Places that an original queue may be known from.
const (
	OriginConfigured = "configured"
	OriginOperator   = "operator" // Store.SetOriginal
	OriginFramework  = "framework"
	OriginXDeath     = "x-death"
	OriginQueueName  = "queue-name" // the terminal queue is named after it
)

// Extractors that are no family.
const (
	// brokerExtractor names the broker's own history where no framework left word.
	brokerExtractor = "x-death"
	// configuredExtractor names the headers that the source's settings name.
	configuredExtractor = "configured"
	// genericExtractor guesses by the names of headers.
	genericExtractor = "generic"
)

// specimens lends each extraction its scratch memory.
var specimens = sync.Pool{New: func() any { return new(specimen) }}

// Extract works out why and where d died from its headers, its properties and,
// for the frameworks that write there, its body. It never fails: what is missing
// or malformed is unknown. arrived is when the console received d; it bounds
// which times are possible.
func Extract(d rabbit.Delivery, s Source, arrived time.Time) Facts {
	facts, _ := examine(d, s, arrived)
	return facts
}

// examine is Extract, and returns the message inside d where d is an envelope.
func examine(d rabbit.Delivery, s Source, arrived time.Time) (Facts, *inner) {
	r := specimens.Get().(*specimen)
	defer specimens.Put(r)
	defer r.forget()
	r.read(d, s.Queue, arrived)
	told := r.gather(s.FailureHeaders)
	history := deathsOf(d.Headers["x-death"], arrived)
	if len(history) == 0 && told.history != nil {
		history = deathsOf(told.history, arrived)
	}
	origin, entry := originOf(s, told, history, d.Headers)
	f := Facts{
		BusinessKey: r.keyOf(told.inner, s.BusinessKey),
		Reason:      brokerReason(d.Headers, entry, history),
		Failure:     told.failure,
		Original:    origin,
	}
	f.setTimes(told, history)
	f.RetryCount, f.RetryCountSource = retriesOf(d.Headers, told, history, origin.Queue)
	if f.Failure.Extractor == "" && len(history) > 0 {
		f.Failure.Extractor = brokerExtractor
	}
	return f, told.inner
}

// keyOf returns the business key: of an envelope that of the message inside,
// which is what the consumer knows it by.
func (r *specimen) keyOf(in *inner, finders []KeyFinder) string {
	if in != nil {
		if key := businessKey(finders, in.headers, in.properties, &document{body: in.body}); key != "" {
			return key
		}
	}
	return businessKey(finders, r.headers, r.properties, &r.body)
}

// setTimes believes a framework that says when the message failed, then the
// broker. Of what cannot be the first is kept in words.
func (f *Facts) setTimes(told found, history []death) {
	first, last := firstAndLast(history)
	if told.first.told() {
		first = told.first
	}
	if told.last.told() {
		last = told.last
	}
	f.FirstDiedAt, f.DiedAt = first.at, last.at
	f.ClockSaid = firstOf(last.said, first.said)
}

// brokerReason is why the message left the queue it was consumed from; where
// the history does not show that queue, why it was dead-lettered last.
func brokerReason(h rabbit.Table, entry *death, history []death) Reason {
	switch {
	case entry != nil:
		return entry.reason
	case len(history) > 0:
		return history[0].reason
	case h["x-last-death-reason"] != nil:
		return reasonOf(h["x-last-death-reason"])
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

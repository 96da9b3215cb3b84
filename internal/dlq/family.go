package dlq

import (
	"strings"
)

// family is what is known of one framework: how its messages are told, where
// it writes why one failed, and what a replay has to do with what it wrote. It
// takes headers and bodies of any shape and never panics; what it cannot read
// is unknown. failure-headers of every family stand in its own file.
type family struct {
	name string
	// marks are header names that only this family writes, prefixes how such
	// names begin.
	marks, prefixes []string
	// sure says whether the message truly is this family's, where that is not
	// told by a mark alone. It is asked for every message: it must be cheap.
	sure func(r *specimen, marked bool) bool
	// read returns what the family left; nil: it leaves nothing.
	read func(r *specimen) found
	// off are the headers that a replay takes off, by their names; the prefixes
	// likewise.
	off, offPrefixes []string
	// mend changes what is sent beyond that; nil: nothing.
	mend func(r *specimen, u *Unit)
}

// families are asked in this order: what is written in headers before what is
// seen in a body, and each exact name before a guess.
var families = []*family{
	&guardFamily, &springCloudFamily, &springFamily,
	&massTransitFamily, &nServiceBusFamily, &rebusFamily, &easyNetQFamily, &wolverineFamily, &brighterFamily, &capFamily,
	&celeryFamily, &dramatiqFamily, &sneakersFamily, &symfonyFamily, &enqueueFamily, &laravelFamily,
	&rascalFamily, &watermillFamily, &nestFamily, &daprFamily,
}

// tells says whether the message is of family number i.
func (r *specimen) tells(i int) bool {
	marked := r.marks&(1<<i) != 0
	if sure := families[i].sure; sure != nil {
		return sure(r, marked)
	}
	return marked
}

// found is what a family left on a message; what it did not leave is zero or nil.
type found struct {
	failure    Failure
	retries    *int64
	queue      *string
	named      string // the queue, by a rule of the family's for the terminal queue's name
	exchange   *string
	routingKey *string
	first      moment // when it first failed
	last       moment // when it failed for the last time
	history    any    // the broker's x-death, where the family keeps it elsewhere
	inner      *inner // the message inside an envelope
}

// gather asks all families that the message tells of, and what is configured
// before them: the first that knows a thing is believed. The parts of a failure,
// and exchange with routing key, stay together.
func (r *specimen) gather(names FailureHeaders) found {
	var all found
	if names != (FailureHeaders{}) {
		all.take(configuredExtractor, r.configured(names))
	}
	recognised, told := "", marks(0)
	for i, f := range families {
		if !r.tells(i) {
			continue
		}
		told |= 1 << i
		recognised = firstOf(recognised, f.name)
		if f.read != nil {
			all.take(f.name, f.read(r))
		}
	}
	if r.guess {
		all.take(genericExtractor, r.generic(told))
	}
	if all.failure.Extractor == "" {
		all.failure.Extractor = recognised // it left no reason
	}
	return all
}

func (all *found) take(extractor string, one found) {
	if all.failure == (Failure{}) && one.failure != (Failure{}) {
		all.failure = bounded(one.failure)
		all.failure.Extractor = extractor
	}
	if all.exchange == nil && all.routingKey == nil {
		all.exchange, all.routingKey = one.exchange, one.routingKey
	}
	all.retries = orElse(all.retries, one.retries)
	all.queue = orElse(all.queue, one.queue)
	all.named = firstOf(all.named, one.named)
	all.inner = orElse(all.inner, one.inner)
	if !all.first.told() {
		all.first = one.first
	}
	if !all.last.told() {
		all.last = one.last
	}
	if all.history == nil {
		all.history = one.history
	}
}

func orElse[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

func bounded(f Failure) Failure {
	f.Type = cut(f.Type, maxFailureType)
	f.Message = cut(f.Message, maxFailureMessage)
	f.Stack = cut(f.Stack, maxFailureStack)
	return f
}

// clearText is bounded for parts that did not come by a header: they are made
// fit for a column too.
func clearText(f Failure) Failure {
	f.Type = displayable(cut(f.Type, 2*maxFailureType))
	f.Message = displayable(cut(f.Message, 2*maxFailureMessage))
	f.Stack = displayable(cut(f.Stack, 2*maxFailureStack))
	return f
}

// nameOf is shortOf for names that come as text out of a body; "" is none.
func nameOf(s string) *string {
	if s == "" {
		return nil
	}
	return shortOf(s)
}

// lastSegment returns what stands behind the last slash of an address, without
// its query.
func lastSegment(address string) *string {
	address, _, _ = strings.Cut(address, "?")
	return nameOf(address[strings.LastIndexByte(address, '/')+1:])
}

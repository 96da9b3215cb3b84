package replay

import (
	"errors"
	"fmt"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// Why a destination was chosen.
const (
	WhyRouteAsked        = "asked"                   // the request or the source says so
	WhyRouteDeadLettered = "dead_letter_routing_key" // the next death keeps its way by the queue's own routing key
	WhyRouteFanout       = "dead_letter_fanout"      // the next death goes its way whatever the routing key
	WhyRouteNoDLX        = "no_dead_letter_exchange" // no route can keep a next death
	WhyRouteKeepsKey     = "keeps_routing_key"       // the next death needs the original routing key
	WhyRouteNoManagement = "no_management"           // nothing is known of the queue's arguments
)

// Warnings of a destination.
const (
	WarnNextDeath    = "next_death_may_be_lost"  // the next death may find no way to the terminal queue
	WarnNoDLX        = "no_dead_letter_exchange" // a next rejection is dropped by the broker
	WarnManagement   = "management_unavailable"  // configured, but it did not answer
	WarnCopies       = "copies_to_other_queues"  // every queue bound to the exchange gets one
	WarnQueueMissing = "queue_missing"
	WarnNoConsumers  = "no_consumers"
)

// queueFacts is what the management API said about the original queue; the
// zero value says that none is configured.
type queueFacts struct {
	rabbit.QueueFacts
	asked bool
	err   error
}

// chooseDestination says how a message that came from o goes back to it. It
// returns ErrNoDestination where that is not known, and ErrBadRoute.
//
// Route auto takes the first way that neither loses nor multiplies the
// message (rabbitmq.md §6, §11).
func chooseDestination(route Route, o dlq.Origin, f queueFacts) (Destination, error) {
	if route == RouteExchange {
		return byExchange(o, f)
	}
	if o.Queue == "" {
		return Destination{}, fmt.Errorf("replay: choose destination: %w", ErrNoDestination)
	}
	var d Destination
	switch route {
	case RouteQueue:
		d = byQueue(o, WhyRouteAsked)
		if nextDeathNeedsKey(f) {
			d.Warnings = append(d.Warnings, WarnNextDeath)
		}
	case RouteReplayExchange:
		d = byReplayExchange(o, WhyRouteAsked)
	case RouteAuto, "":
		d = automatic(o, f)
	default:
		return Destination{}, fmt.Errorf("replay: choose destination: %w: %q", ErrBadRoute, route)
	}
	d.Warnings = append(d.Warnings, f.warnings()...)
	return d, nil
}

func automatic(o dlq.Origin, f queueFacts) Destination {
	switch {
	case !f.known():
		d := byQueue(o, WhyRouteNoManagement)
		d.Warnings = []string{WarnNextDeath}
		return d
	case f.DeadLetterExchange == nil:
		return byQueue(o, WhyRouteNoDLX)
	case f.DeadLetterRoutingKey != nil:
		return byQueue(o, WhyRouteDeadLettered)
	case f.DeadLetterExchangeType == "fanout":
		return byQueue(o, WhyRouteFanout)
	case o.RoutingKey == nil:
		d := byQueue(o, WhyRouteKeepsKey)
		d.Warnings = []string{WarnNextDeath}
		return d
	}
	return byReplayExchange(o, WhyRouteKeepsKey)
}

func byQueue(o dlq.Origin, why string) Destination {
	return Destination{Route: RouteQueue, Exchange: "", RoutingKey: o.Queue, Queue: o.Queue, Why: why}
}

func byReplayExchange(o dlq.Origin, why string) Destination {
	d := Destination{
		Route: RouteReplayExchange, Exchange: replayExchange(o.Queue), RoutingKey: o.Queue, Queue: o.Queue, Why: why,
	}
	if o.RoutingKey != nil {
		d.RoutingKey = *o.RoutingKey
	}
	return d
}

func byExchange(o dlq.Origin, f queueFacts) (Destination, error) {
	if o.Exchange == nil || o.RoutingKey == nil {
		return Destination{}, fmt.Errorf("replay: choose destination: original exchange: %w", ErrNoDestination)
	}
	d := Destination{
		Route: RouteExchange, Exchange: *o.Exchange, RoutingKey: *o.RoutingKey, Queue: o.Queue, Why: WhyRouteAsked,
	}
	if *o.Exchange != "" { // the default exchange reaches one queue only
		d.Warnings = append(d.Warnings, WarnCopies)
	}
	d.Warnings = append(d.Warnings, f.warnings()...)
	return d, nil
}

// replayExchange is the name of the console's own exchange for a queue.
func replayExchange(queue string) string { return "dlo.replay." + queue }

// known reports that the queue's dead-letter arguments are known.
func (f queueFacts) known() bool { return f.asked && f.err == nil }

func nextDeathNeedsKey(f queueFacts) bool {
	if !f.known() {
		return true
	}
	return f.DeadLetterExchange != nil && f.DeadLetterRoutingKey == nil && f.DeadLetterExchangeType != "fanout"
}

func (f queueFacts) warnings() []string {
	switch {
	case !f.asked:
		return nil
	case errors.Is(f.err, rabbit.ErrQueueMissing):
		return []string{WarnQueueMissing}
	case f.err != nil:
		return []string{WarnManagement}
	}
	var words []string
	if f.DeadLetterExchange == nil {
		words = append(words, WarnNoDLX)
	}
	if f.StateKnown && f.Consumers == 0 {
		words = append(words, WarnNoConsumers)
	}
	return words
}

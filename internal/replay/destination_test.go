package replay

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestChooseDestination(t *testing.T) {
	t.Parallel()
	ex, key, dlx, empty := "ex.pay", "pay.success", "ex.pay.dlx", ""
	whole := dlq.Origin{Queue: "q.pay", Exchange: &ex, RoutingKey: &key}
	keyless := dlq.Origin{Queue: "q.pay"}
	managed := func(f rabbit.QueueFacts) queueFacts {
		f.StateKnown, f.Consumers = true, 1
		return queueFacts{QueueFacts: f, asked: true}
	}
	needsKey := managed(rabbit.QueueFacts{DeadLetterExchange: &dlx, DeadLetterExchangeType: "direct"})
	byQueue := Destination{Route: RouteQueue, RoutingKey: "q.pay", Queue: "q.pay"}
	own := Destination{Route: RouteReplayExchange, Exchange: "dlo.replay.q.pay", RoutingKey: "pay.success", Queue: "q.pay"}
	with := func(d Destination, why string, warnings ...string) Destination {
		d.Why, d.Warnings = why, warnings
		return d
	}
	tests := []struct {
		name   string
		route  Route
		origin dlq.Origin
		facts  queueFacts
		want   Destination
		err    error
	}{
		{"auto without management", RouteAuto, whole, queueFacts{}, with(byQueue, WhyRouteNoManagement, WarnNextDeath), nil},
		{"no route is auto", "", whole, queueFacts{}, with(byQueue, WhyRouteNoManagement, WarnNextDeath), nil},
		{"auto, dead-letter routing key", RouteAuto, whole, managed(rabbit.QueueFacts{DeadLetterExchange: &dlx, DeadLetterRoutingKey: &key}), with(byQueue, WhyRouteDeadLettered), nil},
		{"auto, fanout", RouteAuto, whole, managed(rabbit.QueueFacts{DeadLetterExchange: &dlx, DeadLetterExchangeType: "fanout"}), with(byQueue, WhyRouteFanout), nil},
		{"auto, the next death needs the routing key", RouteAuto, whole, needsKey, with(own, WhyRouteKeepsKey), nil},
		{"auto, the routing key is not known", RouteAuto, keyless, needsKey, with(byQueue, WhyRouteKeepsKey, WarnNextDeath), nil},
		{"auto, no dead-letter exchange", RouteAuto, whole, managed(rabbit.QueueFacts{}), with(byQueue, WhyRouteNoDLX, WarnNoDLX), nil},
		{"auto, management is down", RouteAuto, whole, queueFacts{asked: true, err: rabbit.ErrUnavailable}, with(byQueue, WhyRouteNoManagement, WarnNextDeath, WarnManagement), nil},
		{"auto, the queue is gone", RouteAuto, whole, queueFacts{asked: true, err: rabbit.ErrQueueMissing}, with(byQueue, WhyRouteNoManagement, WarnNextDeath, WarnQueueMissing), nil},
		{"auto, nobody consumes", RouteAuto, whole, queueFacts{QueueFacts: rabbit.QueueFacts{StateKnown: true, DeadLetterExchange: &dlx, DeadLetterRoutingKey: &key}, asked: true}, with(byQueue, WhyRouteDeadLettered, WarnNoConsumers), nil},
		{"asked for the queue", RouteQueue, whole, needsKey, with(byQueue, WhyRouteAsked, WarnNextDeath), nil},
		{"asked for the queue, nothing to lose", RouteQueue, whole, managed(rabbit.QueueFacts{DeadLetterExchange: &dlx, DeadLetterRoutingKey: &key}), with(byQueue, WhyRouteAsked), nil},
		{"asked for the replay exchange", RouteReplayExchange, whole, queueFacts{}, with(own, WhyRouteAsked), nil},
		{"asked for the exchange", RouteExchange, whole, queueFacts{}, with(Destination{Route: RouteExchange, Exchange: ex, RoutingKey: key, Queue: "q.pay"}, WhyRouteAsked, WarnCopies), nil},
		{"asked for the default exchange", RouteExchange, dlq.Origin{Queue: "q.pay", Exchange: &empty, RoutingKey: &key}, queueFacts{}, with(Destination{Route: RouteExchange, RoutingKey: key, Queue: "q.pay"}, WhyRouteAsked), nil},
		{"the exchange is not known", RouteExchange, keyless, queueFacts{}, Destination{}, ErrNoDestination},
		{"the queue is not known", RouteAuto, dlq.Origin{Exchange: &ex, RoutingKey: &key}, queueFacts{}, Destination{}, ErrNoDestination},
		{"no such route", "pigeon", whole, queueFacts{}, Destination{}, ErrBadRoute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := chooseDestination(tt.route, tt.origin, tt.facts)
			if !errors.Is(err, tt.err) {
				t.Fatalf("got error %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("destination (-want +got):\n%s", diff)
			}
		})
	}
}

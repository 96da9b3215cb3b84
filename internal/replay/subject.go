package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// subject is one message with all that a replay needs to know of it.
type subject struct {
	message  dlq.Message
	plan     Plan
	facts    queueFacts
	evidence Evidence
	decision Decision
}

// look reads a message and asks everybody about it.
func (s *Service) look(ctx context.Context, messageID string) (subject, error) {
	m, err := s.store.Message(ctx, messageID)
	if err != nil {
		return subject{}, err
	}
	sub := subject{message: m, plan: s.plans[m.Source]}
	sub.facts = s.askBroker(ctx, sub.plan.Broker, m.Original.Queue)
	sub.evidence = s.gather(ctx, sub.plan, m.BusinessKey, sub.facts.unacked(), s.now())
	sub.decision = Decide(sub.evidence)
	return sub, nil
}

// askBroker reads the facts of the original queue where a management URL is
// configured.
func (s *Service) askBroker(ctx context.Context, broker, queue string) queueFacts {
	m := s.management[broker]
	if m == nil || queue == "" {
		return queueFacts{}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	facts, err := m.Queue(ctx, queue)
	return queueFacts{QueueFacts: facts, asked: true, err: err}
}

// unacked returns nil where it is not known.
func (f queueFacts) unacked() *int64 {
	if !f.known() || !f.StateKnown {
		return nil
	}
	return &f.Unacked
}

func (sub subject) destination(route Route) (Destination, error) {
	if route == "" || route == RouteAuto {
		route = sub.plan.Route
	}
	d, err := chooseDestination(route, sub.message.Original, sub.facts)
	if err == nil && sub.plan.Broker == "" {
		return Destination{}, fmt.Errorf("replay: source %s is not configured: %w", sub.message.Source, ErrNoDestination)
	}
	return d, err
}

// cause returns the error by which a verdict is Unknown; nil where it has none.
func (sub subject) cause() error {
	errs := []error{sub.evidence.State.Err, sub.evidence.Effect.Err}
	for _, r := range sub.evidence.Keys {
		errs = append(errs, r.Err)
	}
	return errors.Join(errs...)
}

// broker returns the publisher of sub's broker, or rabbit.ErrUnavailable.
func (s *Service) broker(p Plan) (publisher, error) {
	if b := s.publishers[p.Broker]; b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("replay: broker %q is not configured: %w", p.Broker, rabbit.ErrUnavailable)
}

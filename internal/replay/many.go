package replay

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Bounds of a preflight of many.
const (
	manyMessages = 1000
	manyAtOnce   = 4
)

// Counts is the preflight of many messages.
type Counts struct {
	Total int // messages that were looked at
	// Verdicts counts what is no possible copy.
	Verdicts map[Verdict]int
	// PossibleCopies is how many may be copies of other messages: no verdict
	// counts them, since no replay of many sends them unless it is told to.
	PossibleCopies int
	// Destinations are the different ones, by queue.
	Destinations []Destination
	// Left is how many of the messages were not looked at, because there were
	// more than a thousand.
	Left int
}

// PreflightMany says what a replay of each of ids would meet, as a count for
// each verdict. It returns dlq.ErrNotFound where one of them does not exist.
func (s *Service) PreflightMany(ctx context.Context, ids []string) (Counts, error) {
	asked := ids[:min(len(ids), manyMessages)]
	counts := Counts{Total: len(asked), Left: len(ids) - len(asked), Verdicts: map[Verdict]int{}}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(manyAtOnce)
	for _, id := range asked {
		group.Go(func() error {
			sub, err := s.look(ctx, id)
			if err != nil {
				return err
			}
			d, err := sub.destination(RouteAuto)
			mu.Lock()
			defer mu.Unlock()
			if sub.message.PossibleCopy {
				counts.PossibleCopies++
				return nil
			}
			counts.Verdicts[sub.decision.Verdict]++
			if err == nil {
				counts.add(d)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Counts{}, fmt.Errorf("replay: preflight many: %w", err)
	}
	slices.SortFunc(counts.Destinations, func(a, b Destination) int { return compareDestinations(a, b) })
	return counts, nil
}

func (c *Counts) add(d Destination) {
	if !slices.ContainsFunc(c.Destinations, func(have Destination) bool { return compareDestinations(have, d) == 0 }) {
		c.Destinations = append(c.Destinations, d)
	}
}

func compareDestinations(a, b Destination) int {
	return slices.Compare(
		[]string{a.Queue, a.Exchange, a.RoutingKey, string(a.Route)},
		[]string{b.Queue, b.Exchange, b.RoutingKey, string(b.Route)})
}

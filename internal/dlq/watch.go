package dlq

import (
	"context"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

const (
	watchEvery   = 2 * time.Second
	watchTimeout = 5 * time.Second
)

// reading is what is known of the queue on the broker; nil: not known.
type reading struct {
	ready, unacked *int64
	warnings       []string
}

// watch keeps the reading of the queue fresh until ctx ends.
func (d *Drain) watch(ctx context.Context) {
	inspector := rabbit.NewInspector(d.URL, "dead letter office: depth of "+d.Source.Name)
	defer inspector.Close()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		d.noteReading(d.read(ctx, inspector))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// noteReading keeps r for Status. A drain that is stuck and sees that somebody
// took messages off the queue tries again at once.
func (d *Drain) noteReading(r reading) {
	d.mu.Lock()
	before := d.status.Ready
	d.status.Ready, d.status.Unacked, d.status.Warnings = r.ready, r.unacked, r.warnings
	fewer := d.stuck && d.status.State == SourceDown && before != nil && r.ready != nil && *r.ready < *before
	d.mu.Unlock()
	if fewer {
		d.hurry()
	}
}

// read asks the management API where there is one, and else, or where that
// does not know, the broker itself. What neither tells is not known; why a
// broker does not answer, the drain says.
func (d *Drain) read(ctx context.Context, inspector *rabbit.Inspector) reading {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	var r reading
	if d.Management != nil {
		facts, err := d.Management.Queue(ctx, d.Source.Queue)
		if err == nil {
			r.warnings = warningsOf(facts)
		}
		if err == nil && facts.StateKnown {
			r.ready, r.unacked = &facts.Ready, &facts.Unacked
			return r
		}
	}
	if ready, _, err := inspector.Depth(ctx, d.Source.Queue); err == nil {
		r.ready = &ready
	}
	return r
}

// warningsOf says what makes a queue a doubtful thing to drain. One consumer
// is the drain itself.
func warningsOf(q rabbit.QueueFacts) []string {
	var w []string
	if q.DeadLetterExchange != nil {
		w = append(w, WarnDeadLetters)
	}
	if q.MessageTTL != nil {
		w = append(w, WarnTTL)
	}
	if q.DeliveryLimit != nil && *q.DeliveryLimit >= 0 && q.DeadLetterExchange == nil {
		w = append(w, WarnDeliveryLimit)
	}
	if q.Consumers > 1 {
		w = append(w, WarnOtherConsumers)
	}
	return w
}

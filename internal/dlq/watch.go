package dlq

import (
	"context"
	"errors"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

const (
	watchEvery   = 2 * time.Second
	watchTimeout = 5 * time.Second
)

// reading is what is known of the queue on the broker; nil: not known.
type reading struct {
	at             time.Time
	ready, unacked *int64
	missing        bool // there is no such queue
	// checked says that the management API told how the queue is made, now; known,
	// that it did so now or before.
	checked, known bool
	hazards        []Hazard
	others         *int64 // consumers that are not of this product
	wrongType      string // "" for a queue that can be drained
}

// watch keeps the reading of the queue fresh until ctx ends.
func (d *Drain) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		d.noteReading(d.read(ctx))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// noteReading keeps r for Status and for the drain. How the queue was made is
// taken to be true until something else is heard. A drain that is stuck and
// sees that somebody took messages off the queue tries again at once.
func (d *Drain) noteReading(r reading) {
	d.mu.Lock()
	before := d.reading
	if !r.checked && !r.missing {
		r.known, r.hazards, r.others, r.wrongType = before.known, before.hazards, before.others, before.wrongType
	}
	d.reading = r
	if r.checked && r.others != nil {
		d.sawOthers(*r.others > 0, r.at)
	}
	d.status.Ready, d.status.Unacked = r.ready, r.unacked
	fewer := d.stuck && before.ready != nil && r.ready != nil && *r.ready < *before.ready
	d.mu.Unlock()
	if fewer {
		d.hurry()
	}
}

// read asks the management API where there is one, and else, or where that
// does not know, the broker itself. What neither tells is not known; why a
// broker does not answer, the drain says.
func (d *Drain) read(ctx context.Context) reading {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	r := reading{at: time.Now()}
	if d.Management != nil {
		facts, err := d.Management.Queue(ctx, d.Source.Queue)
		r.missing = errors.Is(err, rabbit.ErrQueueMissing)
		if err == nil {
			r.checked, r.known, r.hazards, r.others = true, true, HazardsOf(facts), facts.OtherConsumers
			r.wrongType = wrongType(facts.Type)
		}
		if err == nil && facts.StateKnown {
			r.ready, r.unacked = &facts.Ready, &facts.Unacked
			return r
		}
	}
	if ready, _, err := d.inspector.Depth(ctx, d.Source.Queue); err == nil {
		r.ready = &ready
	}
	return r
}

// wrongType returns the type of a queue from which nothing can be taken off.
func wrongType(kind string) string {
	if kind == "stream" {
		return kind
	}
	return ""
}

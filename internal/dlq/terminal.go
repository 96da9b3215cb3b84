package dlq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// othersEvery is how often a running drain asks by AMQP whether somebody else
	// consumes its queue.
	othersEvery = 5 * time.Second
	// lingering is how long a consumer that is gone may still be counted.
	lingering = 2 * time.Second
	// workAfter is how long others must have consumed a queue for it to be taken
	// for a work queue: longer than a broker needs to notice that a connection is
	// dead, so that no lost console of ours counts.
	workAfter = time.Minute
)

// Errors of Confirm.
var (
	// ErrNothingToConfirm: nothing about the queue waits for a confirmation.
	ErrNothingToConfirm = errors.New("nothing about this queue waits for a confirmation")
	// ErrNewHazard: something about the queue was not there when it was looked at.
	ErrNewHazard = errors.New("something about the queue has changed since it was looked at: look again")
)

// errWrongType: what the source names is nothing that can be drained.
type errWrongType struct{ kind string }

// Error implements error.
func (e errWrongType) Error() string { return "the queue is a " + e.kind }

// checkTerminal finds out before the first window whether the queue may be
// drained, and returns a hazardError where that is not so. A reading that is
// fresh is taken as it is.
func (d *Drain) checkTerminal(ctx context.Context) error {
	d.mu.Lock()
	last := d.reading
	d.mu.Unlock()
	if d.Management != nil && (!last.checked || time.Since(last.at) > watchEvery) {
		d.noteReading(d.read(ctx))
	}
	d.lookForOthers(ctx)
	return d.stillTerminal()
}

// stillTerminal is the same from what is known by now; it asks nobody.
func (d *Drain) stillTerminal() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reading.wrongType != "" {
		return errWrongType{d.reading.wrongType}
	}
	if open := unconfirmed(d.hazards()); len(open) > 0 {
		return hazardError{open}
	}
	return nil
}

// recheck looks between two windows whether the queue is as it was.
func (d *Drain) recheck(ctx context.Context) error {
	if time.Since(d.lookedAt) > othersEvery {
		d.lookForOthers(ctx)
	}
	return d.stillTerminal()
}

// lookForOthers asks by AMQP, where the management API does not tell, whether
// somebody else consumes the queue. It is for moments when this drain has the
// source's lock and no subscription: then no consumer is of this product, but
// one that the broker has not yet noticed to be gone.
func (d *Drain) lookForOthers(ctx context.Context) {
	began := time.Now()
	d.lookedAt = began
	d.mu.Lock()
	told := d.reading.others != nil
	d.mu.Unlock()
	for !told {
		_, n, err := d.inspector.Depth(ctx, d.Source.Queue)
		if err != nil {
			return // the drain says what is wrong
		}
		if n == 0 || time.Since(began) > lingering {
			d.mu.Lock()
			d.sawOthers(n > 0, time.Now())
			d.mu.Unlock()
			return
		}
		d.rest(ctx, lingering/10)
	}
}

// sawOthers takes in whether somebody else consumes the queue. Who did so for a
// minute has a work queue: that its consumer is away for a moment, for a new
// version or after a crash, is no leave to drain it. d.mu must be held.
func (d *Drain) sawOthers(there bool, now time.Time) {
	switch {
	case !there && !d.work:
		d.foreign, d.since = false, time.Time{}
	case there && !d.foreign:
		d.foreign, d.since = true, now
	case there && now.Sub(d.since) >= workAfter:
		d.work = true
	}
}

// hazards are what is known against draining the queue, each with whether it is
// confirmed. d.mu must be held.
//
// A management API that was configured and never answered is a hazard for a
// source that was never drained: the check was asked for. Afterwards it only
// gives a warning, so that the drain does not hang on a second service.
func (d *Drain) hazards() []Hazard {
	all := slices.Clone(d.reading.hazards)
	if d.foreign && !slices.ContainsFunc(all, func(h Hazard) bool { return h.Kind == WarnOtherConsumers }) {
		all = append(all, Hazard{Kind: WarnOtherConsumers})
	}
	r := d.reading
	if d.Management != nil && !r.at.IsZero() && !r.known && !r.missing && d.status.LastDrainedAt.IsZero() {
		all = append(all, Hazard{Kind: WarnNotChecked})
	}
	return confirm(all, d.confirmed, d.Source.Terminal)
}

// warnings are the kinds of hazards, and that the queue could not be looked at.
// d.mu must be held.
func (d *Drain) warnings(hazards []Hazard) []string {
	var kinds []string
	for _, h := range hazards {
		kinds = append(kinds, h.Kind)
	}
	unseen := d.Management == nil || !d.reading.at.IsZero() && !d.reading.checked && !d.reading.missing
	if unseen && !slices.Contains(kinds, WarnNotChecked) {
		kinds = append(kinds, WarnNotChecked)
	}
	return kinds
}

// Confirm lets the source be drained in spite of the hazards that there are
// now, and of those only. seen are the IDs of those that the operator was
// shown; nil: all. It returns ErrNothingToConfirm, or ErrNewHazard where there
// are others than were seen. It is audited.
func (d *Drain) Confirm(ctx context.Context, seen []string, a Act) error {
	d.mu.Lock()
	there := d.hazards()
	d.mu.Unlock()
	ids := idsOf(there)
	if len(unconfirmed(there)) == 0 {
		return fmt.Errorf("dlq: confirm %s: %w", d.Source.Name, ErrNothingToConfirm)
	}
	for _, id := range ids {
		if seen != nil && !slices.Contains(seen, id) {
			return fmt.Errorf("dlq: confirm %s: %w", d.Source.Name, ErrNewHazard)
		}
	}
	if err := writeConfirmed(ctx, d.Pool, d.Source.Name, ids, a); err != nil {
		return fmt.Errorf("dlq: confirm %s: %w", d.Source.Name, err)
	}
	d.mu.Lock()
	d.confirmed, d.status.ConfirmedBy, d.status.ConfirmedAt = ids, a.Actor, a.At.UTC()
	d.mu.Unlock()
	d.hurry()
	return nil
}

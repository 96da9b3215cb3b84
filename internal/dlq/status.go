package dlq

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// SourceStatus is what a drain is doing now.
type SourceStatus struct {
	Name          string
	Queue         string
	Broker        string
	State         SourceState
	Why           string // for people; "" where all is well
	Ready         *int64 // on the broker; nil: not known
	Unacked       *int64 // on the broker, or what this drain holds; nil: not known
	LastDrainedAt time.Time
	Warnings      []string // of the closed list
	// Hazards are what the source is not drained for until they are confirmed.
	Hazards     []Hazard
	ConfirmedBy string // who confirmed some, last
	ConfirmedAt time.Time
	Paused      bool
	PausedBy    string
	PausedAt    time.Time
}

// Unconfirmed returns the hazards that nobody has confirmed.
func (s SourceStatus) Unconfirmed() []Hazard { return unconfirmed(s.Hazards) }

// Status returns what the drain is doing now. It asks nobody.
func (d *Drain) Status() SourceStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.status
	s.Hazards = d.hazards()
	s.Warnings = d.warnings(s.Hazards)
	if s.Unacked == nil && d.held != nil {
		held := int64(d.held())
		s.Unacked = &held
	}
	return s
}

// Pause stops the drain once the window in hand is finished; messages stay on
// the broker, also when the console is started again. It is audited.
func (d *Drain) Pause(ctx context.Context, a Act) error {
	if err := writePaused(ctx, d.Pool, d.Source.Name, true, a); err != nil {
		return fmt.Errorf("dlq: pause %s: %w", d.Source.Name, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status.Paused, d.status.PausedBy, d.status.PausedAt = true, a.Actor, a.At.UTC()
	d.status.State, d.status.Why, d.kind = SourcePaused, "", "paused"
	d.Metrics.up(d.Source.Name, false)
	if d.stop != nil {
		d.stop(errPaused)
	}
	return nil
}

// Resume ends a Pause. It is audited.
func (d *Drain) Resume(ctx context.Context, a Act) error {
	if err := writePaused(ctx, d.Pool, d.Source.Name, false, a); err != nil {
		return fmt.Errorf("dlq: resume %s: %w", d.Source.Name, err)
	}
	d.mu.Lock()
	d.status.Paused, d.status.PausedBy, d.status.PausedAt = false, "", time.Time{}
	d.mu.Unlock()
	d.hurry()
	return nil
}

// hurry ends the drain's wait, or the next one where it does not wait.
func (d *Drain) hurry() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// show shows a trouble, or none; an operator's pause stays on top of it. What is
// news and unexpected gets a line in the log, and so does its end.
func (d *Drain) show(ctx context.Context, t trouble, err error) {
	d.mu.Lock()
	if d.status.Paused && t.state != SourcePaused {
		d.mu.Unlock()
		return
	}
	before := d.status.State
	news := before != t.state || d.kind != t.kind
	d.status.State, d.status.Why, d.kind = t.state, t.why, t.kind
	d.Metrics.up(d.Source.Name, t.state == SourceUp)
	d.mu.Unlock()
	switch {
	case news && t.unexpected:
		d.Log.WarnContext(ctx, "drain interrupted", "state", t.state, "why", t.why, "err", err)
	case before != SourceUp && t.state == SourceUp:
		d.Log.InfoContext(ctx, "drain is up")
	}
}

// apply takes in what the store says of the source.
func (d *Drain) apply(s settings) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status.Paused, d.status.PausedBy, d.status.PausedAt = s.paused, s.pausedBy, s.pausedAt
	d.confirmed, d.status.ConfirmedBy, d.status.ConfirmedAt = s.confirmed, s.confirmedBy, s.confirmedAt
	if s.lastDrained.After(d.status.LastDrainedAt) {
		d.status.LastDrainedAt = s.lastDrained
	}
}

// count takes in what a committed window brought.
func (d *Drain) count(b *batch, began time.Time) {
	d.mu.Lock()
	d.status.LastDrainedAt = b.at.UTC()
	d.mu.Unlock()
	for _, x := range slices.Concat(b.fresh, b.reborn) {
		d.Metrics.drained(d.Source.Name, x.facts.Reason)
	}
	d.Metrics.batch(d.Source.Name, b.at, time.Since(began))
}

// enter says how to end the session that begins; nil: it has ended.
func (d *Drain) enter(stop context.CancelCauseFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop = stop
}

// hold says how many messages the consumer holds; nil: there is none.
func (d *Drain) hold(held func() int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = held
}

// owe remembers a window that is acked, until its receipts can be forgotten.
func (d *Drain) owe(window uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.acked = append(d.acked, window)
}

func (d *Drain) owed() []uuid.UUID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.acked)
}

func (d *Drain) paid() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.acked = nil
}

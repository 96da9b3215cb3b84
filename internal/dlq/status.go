package dlq

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Warnings about a terminal queue: draining it may break something.
const (
	WarnDeadLetters    = "dead_letter_exchange" // it has a dead-letter exchange of its own
	WarnTTL            = "message_ttl"          // its messages expire
	WarnDeliveryLimit  = "delivery_limit"       // it deletes messages that are delivered too often
	WarnOtherConsumers = "other_consumers"      // somebody else consumes it too
)

// Warnings is the closed list of warnings.
var Warnings = []string{WarnDeadLetters, WarnTTL, WarnDeliveryLimit, WarnOtherConsumers}

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
	Paused        bool
	PausedBy      string
}

// Status returns what the drain is doing now. It asks nobody.
func (d *Drain) Status() SourceStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.status
	s.Warnings = slices.Clone(s.Warnings)
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
	d.status.Paused, d.status.PausedBy = true, a.Actor
	d.status.State, d.status.Why = SourcePaused, ""
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
	d.status.Paused, d.status.PausedBy = false, ""
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

// show sets the state, and says whether that is news; an operator's pause stays
// on top of it.
func (d *Drain) show(state SourceState, why string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.status.Paused && state != SourcePaused {
		return false
	}
	news := d.status.State != state || d.status.Why != why
	d.status.State, d.status.Why = state, why
	d.Metrics.up(d.Source.Name, state == SourceUp)
	return news
}

// apply takes in what the store says of the source.
func (d *Drain) apply(s settings) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status.Paused, d.status.PausedBy = s.paused, s.pausedBy
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

package sample

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// Sources are the sample drains.
type Sources struct {
	mu     sync.Mutex
	paused map[string]string // who paused
	// confirmed is who confirmed the hazards of a source.
	confirmed map[string]string
	waiting   bool // refunds is there
}

// NewSources returns three drains: up, up with what was confirmed, and paused.
func NewSources() *Sources {
	return &Sources{paused: map[string]string{}, confirmed: map[string]string{}}
}

// Wait adds a drain that waits for a confirmation.
func (s *Sources) Wait() *Sources {
	s.waiting = true
	return s
}

func refunds() dlq.SourceStatus {
	return dlq.SourceStatus{
		Name: "refunds", Queue: "q.refund.wait", Broker: "pay", State: dlq.SourceBlocked, Why: "The queue may not be terminal.", Ready: new(int64(3)), Unacked: new(int64(0)),
		Warnings: []string{dlq.WarnDeadLetters, dlq.WarnTTL, dlq.WarnDeliveryLimit},
		Hazards:  []dlq.Hazard{{Kind: dlq.WarnDeadLetters, Detail: Hostile}, {Kind: dlq.WarnTTL, Detail: "60000"}, {Kind: dlq.WarnDeliveryLimit, Detail: "20"}},
	}
}

// Statuses tells how each drain stands.
func (s *Sources) Statuses() []dlq.SourceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []dlq.SourceStatus{
		{Name: "pay-success", Queue: "q.pay.dlx.terminal", Broker: "pay", State: dlq.SourceUp, Ready: new(int64(0)), Unacked: new(int64(0)), LastDrainedAt: ago(time.Second)},
		{
			Name: "order-callback", Queue: "q.order.dlx", Broker: "pay", State: dlq.SourceUp, Ready: new(int64(17)), Unacked: new(int64(2)), LastDrainedAt: ago(time.Hour),
			Warnings: []string{dlq.WarnTTL, dlq.WarnOtherConsumers}, ConfirmedBy: person, ConfirmedAt: ago(25 * time.Hour),
			Hazards: []dlq.Hazard{{Kind: dlq.WarnTTL, Detail: "604800000", Confirmed: true}, {Kind: dlq.WarnOtherConsumers, Confirmed: true}},
		},
		{
			Name: "points", Queue: Hostile, Broker: "points", State: dlq.SourcePaused, Paused: true, PausedBy: Hostile, PausedAt: ago(2 * time.Hour),
			Warnings: []string{dlq.WarnDeadLetters}, Hazards: []dlq.Hazard{{Kind: dlq.WarnDeadLetters, Detail: Hostile}},
		},
	}
	if s.waiting {
		all = append(all, refunds())
	}
	for i := range all {
		if by := s.confirmed[all[i].Name]; by != "" {
			if !all[i].Paused {
				all[i].State, all[i].Why = dlq.SourceUp, ""
			}
			all[i].ConfirmedBy, all[i].ConfirmedAt = by, ago(time.Second)
			for h := range all[i].Hazards {
				all[i].Hazards[h].Confirmed = true
			}
		}
		if by, ok := s.paused[all[i].Name]; ok {
			all[i].Paused, all[i].PausedBy, all[i].State = by != "", by, dlq.SourcePaused
			if by == "" {
				all[i].State = dlq.SourceUp
			}
		}
	}
	return all
}

// Pause pauses a drain.
func (s *Sources) Pause(_ context.Context, name string, a dlq.Act) error {
	return s.set(name, a.Actor)
}

// Resume ends a pause.
func (s *Sources) Resume(_ context.Context, name string, _ dlq.Act) error { return s.set(name, "") }

// Confirm lets a drain go on in spite of its hazards.
func (s *Sources) Confirm(_ context.Context, name string, seen []string, a dlq.Act) error {
	all := s.Statuses()
	i := slices.IndexFunc(all, func(x dlq.SourceStatus) bool { return x.Name == name })
	if i < 0 {
		return fmt.Errorf("sample: source %s: %w", name, dlq.ErrNotFound)
	}
	if len(all[i].Unconfirmed()) == 0 {
		return fmt.Errorf("sample: source %s: %w", name, dlq.ErrNothingToConfirm)
	}
	for _, h := range all[i].Hazards {
		if seen != nil && !slices.Contains(seen, h.ID()) {
			return fmt.Errorf("sample: source %s: %w", name, dlq.ErrNewHazard)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.confirmed[name] = a.Actor
	return nil
}

func (s *Sources) set(name, by string) error {
	if !slices.ContainsFunc(s.Statuses(), func(x dlq.SourceStatus) bool { return x.Name == name }) {
		return fmt.Errorf("sample: source %s: %w", name, dlq.ErrNotFound)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused[name] = by
	return nil
}

// Log is a sample audit.
type Log struct{}

// List returns the sample entries that f selects.
func (Log) List(_ context.Context, f audit.Filter) (audit.Page, error) {
	all := []audit.Entry{
		{At: ago(2 * time.Minute), Actor: person, From: "10.0.3.7", Act: audit.ActReplay, Object: "message " + ReplayedID, OperationID: "replay-82", Reason: "Harbour Bank is back", Result: "sent"},
		{At: ago(2*time.Minute + time.Second), Actor: person, From: "10.0.3.7", Act: audit.ActReplay, Object: "message " + ReplayedID, OperationID: "replay-82", Reason: "Harbour Bank is back", Result: audit.ResultIntended},
		{At: ago(9 * time.Minute), Actor: person, Act: audit.ActNote, Object: "message " + StaleID, Result: audit.ResultDone},
		{At: ago(time.Hour), Actor: person, Act: audit.ActRelease, Object: "key " + KeyOf("P20260928310"), OperationID: "replay-81", Reason: "consumer was killed at 02:51", Result: "released"},
		{At: ago(2 * time.Hour), Actor: "anna", Act: audit.ActPause, Object: "source points", Reason: "schema change", Result: audit.ResultDone},
		{At: ago(150 * time.Minute), Actor: person, Act: audit.ActDiscard, Object: "message " + ResolvedID, OperationID: "d-1", Reason: "nobody needs it", Result: dlq.ResultBadState},
		{At: ago(3 * time.Hour), Actor: Hostile, From: Hostile, Act: audit.ActDiscard, Object: "message " + Hostile, OperationID: Hostile, Reason: Hostile, Result: Hostile},
	}
	page := audit.Page{}
	for i, e := range all {
		e.ID = int64(len(all) - i)
		found := f.Search == "" || strings.Contains(e.Reason, f.Search) || slices.Contains(f.Objects, e.Object)
		if found && (f.Object == "" || e.Object == f.Object) && (f.OperationID == "" || e.OperationID == f.OperationID) {
			page.Entries = append(page.Entries, e)
		}
	}
	return page, nil
}

// About returns the sample entries about an object, the oldest first.
func (l Log) About(ctx context.Context, object string, after int64, limit int) ([]audit.Entry, error) {
	page, err := l.List(ctx, audit.Filter{Object: object})
	slices.Reverse(page.Entries)
	found := slices.DeleteFunc(page.Entries, func(e audit.Entry) bool { return e.ID <= after })
	return found[:min(len(found), limit)], err
}

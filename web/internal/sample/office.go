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
}

// NewSources returns three drains, the last of them down.
func NewSources() *Sources { return &Sources{paused: map[string]string{}} }

// Statuses tells how each drain stands.
func (s *Sources) Statuses() []dlq.SourceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []dlq.SourceStatus{
		{Name: "pay-success", Queue: "q.pay.dlx.terminal", Broker: "pay", State: dlq.SourceUp, Ready: new(int64(0)), Unacked: new(int64(0)), LastDrainedAt: ago(time.Second)},
		{Name: "order-callback", Queue: "q.order.dlx", Broker: "pay", State: dlq.SourceUp, Ready: new(int64(17)), Unacked: new(int64(2)), LastDrainedAt: ago(time.Hour), Warnings: []string{dlq.WarnTTL, dlq.WarnOtherConsumers}},
		{Name: "points", Queue: Hostile, Broker: "points", State: dlq.SourcePaused, Paused: true, PausedBy: Hostile},
	}
	for i := range all {
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

package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// drains is every source's drain, in the order of the configuration.
type drains []*dlq.Drain

// Statuses tells how each source stands.
func (d drains) Statuses() []dlq.SourceStatus {
	all := make([]dlq.SourceStatus, len(d))
	for i, one := range d {
		all[i] = one.Status()
	}
	return all
}

// Pause stops the draining of the source called name, until Resume.
func (d drains) Pause(ctx context.Context, name string, a dlq.Act) error {
	one, err := d.find(name)
	if err != nil {
		return err
	}
	return one.Pause(ctx, a)
}

// Resume undoes Pause.
func (d drains) Resume(ctx context.Context, name string, a dlq.Act) error {
	one, err := d.find(name)
	if err != nil {
		return err
	}
	return one.Resume(ctx, a)
}

// Confirm lets the source called name be drained in spite of its hazards.
func (d drains) Confirm(ctx context.Context, name string, seen []string, a dlq.Act) error {
	one, err := d.find(name)
	if err != nil {
		return err
	}
	return one.Confirm(ctx, seen, a)
}

// Busy says whether messages come in right now, from any source.
func (d drains) Busy() bool { return slices.ContainsFunc(d, (*dlq.Drain).Busy) }

func (d drains) find(name string) (*dlq.Drain, error) {
	for _, one := range d {
		if one.Status().Name == name {
			return one, nil
		}
	}
	return nil, fmt.Errorf("source %q: %w", name, dlq.ErrNotFound)
}

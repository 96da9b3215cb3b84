package main

import (
	"context"
	"errors"
)

// memory watches how much the console takes while it drains much, and while it
// drains what is large. It is a new process each time.
func (b *bench) memory(ctx context.Context) error {
	const kilobyte, large = 1 << 10, 16 << 20
	for _, m := range []struct {
		figure  string
		n, size int
	}{
		{"rss_mb", b.bulk, kilobyte},
		{"rss_small_mb", b.small, kilobyte},
		{"rss_large_mb", b.big, large},
	} {
		peak, err := b.peakOf(ctx, m.n, m.size)
		if err != nil {
			return err
		}
		b.report.set(m.figure, 0, peak)
		b.report.note("%s: %d messages of %s", m.figure, m.n, sizeName(m.size))
		progress("%d of %s: %.0f MB resident", m.n, sizeName(m.size), peak)
	}
	return nil
}

// peakOf is how many megabytes the console had resident at most, from the
// moment when its source was resumed until the queue was empty.
func (b *bench) peakOf(ctx context.Context, n, size int) (peak float64, err error) {
	c, err := b.program.start(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if _, _, _, err := b.drain(ctx, c, n, size); err != nil {
		return 0, errors.Join(err, c.said())
	}
	return c.peak()
}

package replay

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

const (
	// reportWait is how long one reading of the stream waits for a report.
	reportWait = 2 * time.Second
	// faultPause is how long a loop rests when Redis or the database fails.
	faultPause = time.Second
)

// Run follows what was sent until ctx ends: it reads the reports of consumers,
// looks for other signs of an outcome, and ends claims whose lease has run
// out. It returns nil when ctx is cancelled, and never ends by itself.
func (s *Service) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.runPasses(ctx) })
	if s.keys != nil {
		group.Go(func() error { return s.runReports(ctx) })
	}
	return group.Wait()
}

func (s *Service) runPasses(ctx context.Context) error {
	beat := time.NewTicker(s.every)
	defer beat.Stop()
	for {
		s.pass(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
		}
	}
}

// pass does once what falls due, in full batches as long as there are any.
func (s *Service) pass(ctx context.Context) {
	if _, err := s.endLeases(ctx, s.now()); err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "claims could not be ended", "err", err)
	}
	for ctx.Err() == nil {
		n, err := s.settle(ctx, s.now())
		if err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "outcomes could not be settled", "err", err)
		}
		if err != nil || n < settleBatch {
			return
		}
	}
}

func (s *Service) runReports(ctx context.Context) error {
	down := false
	for ctx.Err() == nil {
		err := s.readReports(ctx)
		if err == nil || ctx.Err() != nil {
			down = false
			continue
		}
		if !down { // once for each outage
			s.log.ErrorContext(ctx, "reports could not be read", "err", err)
		}
		down = true
		select {
		case <-ctx.Done():
		case <-time.After(faultPause):
		}
	}
	return nil
}

// readReports reads once from where the cursor stands. Each report's position
// is saved in the transaction of its effect, so that none is lost and one that
// comes twice does no harm. What is no report, or is about an attempt that is
// not ours or was surely not sent, is passed.
func (s *Service) readReports(ctx context.Context) error {
	after, err := s.cursor(ctx)
	if err != nil {
		return err
	}
	reports, next, err := s.keys.Reports(ctx, after, reportWait)
	if err != nil {
		return err
	}
	for _, r := range reports {
		err := s.report(ctx, r, r.Position)
		if err != nil && !errors.Is(err, dlq.ErrNotFound) && !errors.Is(err, dlq.ErrBadState) {
			return err
		}
	}
	if next == after {
		return nil
	}
	return s.advance(ctx, next)
}

package replay

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
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
	s.metrics.reportsUp(s.keys == nil)
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

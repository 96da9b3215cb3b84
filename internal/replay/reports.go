package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// streamStart is the position before every report.
const streamStart = "0-0"

func (s *Service) runReports(ctx context.Context) error {
	down := false
	for ctx.Err() == nil {
		err := s.readReports(ctx)
		if ctx.Err() != nil {
			return nil
		}
		s.metrics.reportsUp(err == nil)
		switch { // once for each change
		case err == nil && down:
			s.log.WarnContext(ctx, "reports are read again")
		case err != nil && !down:
			s.log.WarnContext(ctx, "reports cannot be read", "err", err)
		}
		if down = err != nil; !down {
			continue
		}
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
	s.noteMalformed(ctx)
	if err != nil {
		return err
	}
	if next == after || next == streamStart {
		return s.rewind(ctx, after)
	}
	ours, err := s.ours(ctx, reports)
	if err != nil {
		return err
	}
	for _, r := range ours {
		err := s.report(ctx, r, r.Position)
		if err != nil && !errors.Is(err, dlq.ErrNotFound) && !errors.Is(err, dlq.ErrBadState) {
			return err
		}
	}
	return s.advance(ctx, next)
}

// ours returns those of the reports that are about attempts of this console, by
// one query: others' may be many, and must not delay them.
func (s *Service) ours(ctx context.Context, reports []keys.Report) ([]keys.Report, error) {
	const sql = `
		SELECT a.replay_id, a.message_id
		FROM attempts a
		JOIN unnest(@replays::bigint[], @messages::uuid[]) AS r (replay_id, message_id)
		  ON r.replay_id = a.replay_id AND r.message_id = a.message_id`
	var replays []int64
	var messages []uuid.UUID
	for _, r := range reports {
		if id, replayID, err := attemptOf(r); err == nil {
			replays, messages = append(replays, replayID), append(messages, id)
		}
	}
	if len(replays) == 0 {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, sql, pgx.NamedArgs{"replays": replays, "messages": messages})
	if err != nil {
		return nil, fmt.Errorf("replay: find reported attempts: %w", err)
	}
	known := map[string]bool{}
	var replayID int64
	var id uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&replayID, &id}, func() error {
		known[nameOf(replayID, id)] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("replay: find reported attempts: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(reports), func(r keys.Report) bool {
		id, replayID, err := attemptOf(r)
		return err != nil || !known[nameOf(replayID, id)]
	}), nil
}

func nameOf(replayID int64, id uuid.UUID) string {
	return strconv.FormatInt(replayID, 10) + " " + id.String()
}

// rewind starts again from the stream's beginning where the cursor stands beyond
// its end: the stream was deleted, or a failover brought one that lacks the last
// reports. New ones would never be read. To read some twice does no harm. A user
// that may not look at the stream cannot have this.
func (s *Service) rewind(ctx context.Context, after string) error {
	if after == "" || after == streamStart {
		return nil
	}
	last, err := s.keys.LastReport(ctx)
	if errors.Is(err, keys.ErrRefused) {
		return nil
	}
	if err != nil || !keys.Beyond(after, last) {
		return err
	}
	s.log.WarnContext(ctx, "the stream of reports is another one; it is read from its start", "cursor", after, "last", last)
	return s.advance(ctx, streamStart)
}

// noteMalformed counts and logs how many entries were no reports since the last
// pass, never what they say.
func (s *Service) noteMalformed(ctx context.Context) {
	total := s.keys.Malformed()
	n := total - s.malformed
	s.malformed = total
	if n <= 0 {
		return
	}
	s.metrics.countMalformed(n)
	s.log.WarnContext(ctx, "entries of the stream of reports are none", "entries", n)
}

package dlq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// figureBuckets and figureBucket cut the last six hours of Figures.
	figureBuckets = 24
	figureBucket  = 15 * time.Minute
	// maxFigured bounds how many messages figures are made from.
	maxFigured = 100_000
)

// SourceFigures are the numbers of one source for the overview.
type SourceFigures struct {
	Source        string
	Open          int64
	Quarantined   int64
	OldestOpen    time.Time // zero: none is open
	Last6h        []int64   // deaths in each of 24 quarters of an hour, the oldest first
	LastDrainedAt time.Time

	// The most frequent failure among the newest open messages, at most 10,000
	// of each source: all of one type count together, with the message that most
	// of them have. TopCount is 0 where none is open.
	TopFailureType    string
	TopFailureMessage string
	TopReason         Reason
	TopCount          int64
}

// OpenCounts returns for each source that the store knows what is open and
// quarantined in it, and when it was last drained; the other figures are zero.
// It is cheap: where counting takes long, because much is open, the last answer
// serves as long as it takes for counting to cost little.
func (s *Store) OpenCounts(ctx context.Context) (map[string]SourceFigures, error) {
	return s.counts.get(func() (map[string]SourceFigures, error) { return s.countOpen(ctx) })
}

func (s *Store) countOpen(ctx context.Context) (map[string]SourceFigures, error) {
	// Sources of messages are found by hopping through their index, one by one.
	const sql = `
		WITH RECURSIVE hop AS (
			(SELECT source FROM dead_letters ORDER BY source LIMIT 1)
			UNION ALL
			SELECT (SELECT m.source FROM dead_letters m WHERE m.source > hop.source ORDER BY m.source LIMIT 1)
			FROM hop WHERE hop.source IS NOT NULL
		), known AS (
			SELECT source FROM hop WHERE source IS NOT NULL
			UNION SELECT source FROM source_settings
		)
		SELECT s.source, (SELECT last_drained_at FROM source_settings WHERE source = s.source),
			(SELECT count(*) FROM dead_letters m WHERE m.source = s.source AND m.state = 'open'),
			(SELECT count(*) FROM dead_letters m WHERE m.source = s.source AND m.quarantine IS NOT NULL AND m.state = 'open'),
			(SELECT m.died_at FROM dead_letters m WHERE m.source = s.source AND m.state = 'open' ORDER BY m.died_at, m.id LIMIT 1)
		FROM known s`
	rows, err := s.pool.Query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("dlq: count open messages: %w", err)
	}
	figures := map[string]SourceFigures{}
	var f SourceFigures
	var drained, oldest *time.Time
	_, err = pgx.ForEachRow(rows, []any{&f.Source, &drained, &f.Open, &f.Quarantined, &oldest}, func() error {
		f.LastDrainedAt, f.OldestOpen = timeOr(drained), timeOr(oldest)
		figures[f.Source] = f
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("dlq: count open messages: %w", err)
	}
	return figures, nil
}

// Figures returns the figures of all sources that the store knows, in the
// order of their names.
func (s *Store) Figures(ctx context.Context, now time.Time) ([]SourceFigures, error) {
	counts, err := s.OpenCounts(ctx)
	if err != nil {
		return nil, err
	}
	deaths, err := s.recentDeaths(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("dlq: count recent deaths: %w", err)
	}
	all := make([]SourceFigures, 0, len(counts))
	for _, name := range sortedKeys(counts) {
		f := counts[name]
		f.Last6h = deaths[name]
		if f.Last6h == nil {
			f.Last6h = make([]int64, figureBuckets)
		}
		if f.Open > 0 {
			if err := s.topFailure(ctx, &f); err != nil {
				return nil, fmt.Errorf("dlq: top failure of %s: %w", name, err)
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// recentDeaths counts the deaths of the last six hours by source and quarter
// of an hour.
func (s *Store) recentDeaths(ctx context.Context, now time.Time) (map[string][]int64, error) {
	const sql = `
		SELECT source, floor(extract(epoch FROM died_at - @from::timestamptz) / @bucket::float8)::integer AS bucket, count(*)
		FROM (SELECT source, died_at FROM dead_letters
			WHERE died_at >= @from AND died_at < @to::timestamptz
			ORDER BY died_at DESC, id DESC LIMIT @limit) AS recent
		GROUP BY source, bucket`
	rows, err := s.pool.Query(ctx, sql, pgx.NamedArgs{
		"from": now.Add(-figureBuckets * figureBucket), "to": now,
		"bucket": figureBucket.Seconds(), "limit": maxFigured,
	})
	if err != nil {
		return nil, err
	}
	deaths := map[string][]int64{}
	var source string
	var bucket int
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&source, &bucket, &n}, func() error {
		if deaths[source] == nil {
			deaths[source] = make([]int64, figureBuckets)
		}
		deaths[source][min(max(bucket, 0), figureBuckets-1)] = n
		return nil
	})
	return deaths, err
}

// topFailure fills in the most frequent failure of f's source.
func (s *Store) topFailure(ctx context.Context, f *SourceFigures) error {
	const sql = `
		SELECT coalesce(failure_type, ''), coalesce(mode() WITHIN GROUP (ORDER BY failure_message), ''),
			mode() WITHIN GROUP (ORDER BY reason), count(*) AS n
		FROM (SELECT failure_type, failure_message, reason FROM dead_letters
			WHERE source = @source AND state = 'open'
			ORDER BY died_at DESC, id DESC LIMIT @limit) AS newest
		GROUP BY failure_type, CASE WHEN failure_type IS NULL THEN failure_message END, CASE WHEN failure_type IS NULL THEN reason END
		ORDER BY n DESC, 1, 2, 3
		LIMIT 1`
	args := pgx.NamedArgs{"source": f.Source, "limit": maxExact}
	err := s.pool.QueryRow(ctx, sql, args).Scan(&f.TopFailureType, &f.TopFailureMessage, &f.TopReason, &f.TopCount)
	if errors.Is(err, pgx.ErrNoRows) { // the last one was closed meanwhile
		return nil
	}
	return err
}

package keys

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Outcomes that a consumer may report.
const (
	ReportProcessed    = "processed"
	ReportDuplicate    = "duplicate"
	ReportGuardRefused = "guard_refused"
	ReportFailed       = "failed"
)

// reportsAtOnce is how many reports one reading takes.
const reportsAtOnce = 100

// Reports returns what consumers reported after the position after ("" for all
// that the stream still has), at most a hundred at a time, waiting up to wait
// for the first. next is where to go on: it passes entries that are no reports,
// which are counted (see Malformed) and never stop the ones behind them. It
// returns ErrUnavailable where Redis does not serve.
func (r *Registry) Reports(ctx context.Context, after string, wait time.Duration) (reports []Report, next string, err error) {
	if after == "" {
		after = "0-0"
	}
	block := wait
	if wait <= 0 {
		block = -1 // to the client: do not wait; 0 would wait for ever
	}
	streams, err := r.client.XRead(ctx, &redis.XReadArgs{
		Streams: []string{OutcomeStream, after}, Count: reportsAtOnce, Block: block,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, after, nil
	}
	if err != nil {
		return nil, after, unavailable("read reports", err)
	}
	next = after
	for _, s := range streams {
		for _, m := range s.Messages {
			next = m.ID
			report, ok := parseReport(m)
			if !ok {
				r.malformed.Add(1)
				continue
			}
			reports = append(reports, report)
		}
	}
	return reports, next, nil
}

// Malformed returns how many entries of the stream were no reports since the
// registry was made.
func (r *Registry) Malformed() int64 { return r.malformed.Load() }

// parseReport returns the report that m holds, false where it holds none. What
// is for display is made fit for the database.
func parseReport(m redis.XMessage) (Report, bool) {
	text := func(field string) string {
		s, _ := m.Values[field].(string)
		return s
	}
	r := Report{
		Position:  m.ID,
		MessageID: text("message_id"),
		ReplayID:  text("replay_id"),
		Outcome:   text("outcome"),
		Detail:    show(text("detail")),
		At:        reportedAt(text("at")),
	}
	return r, r.Valid()
}

// Valid reports whether r names a message, a replay and a known outcome. It
// says nothing about whether there is such a replay.
func (r Report) Valid() bool {
	switch r.Outcome {
	case ReportProcessed, ReportDuplicate, ReportGuardRefused, ReportFailed:
	default:
		return false
	}
	_, err := strconv.ParseInt(r.ReplayID, 10, 64)
	return err == nil && r.MessageID != ""
}

// reportedAt reads RFC 3339 or milliseconds since 1970; zero where it is
// neither: a report without a time is still a report.
func reportedAt(s string) time.Time {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t.UTC()
	}
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil && ms >= minMilli && ms <= maxMilli {
		return time.UnixMilli(ms).UTC()
	}
	return time.Time{}
}

package keys

import (
	"context"
	"errors"
	"strconv"
	"strings"
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
		after = noReport
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

// noReport is the position before every report.
const noReport = "0-0"

// LastReport returns the highest position that the stream has ever given, "0-0"
// where there is no stream. A position beyond it comes from another stream: this
// one was deleted, or is that of a replica which did not have all. It returns
// ErrUnavailable where Redis does not serve.
func (r *Registry) LastReport(ctx context.Context) (string, error) {
	answer, err := r.client.Do(ctx, "XINFO", "STREAM", OutcomeStream).Result()
	if redis.HasErrorPrefix(err, "no such key") || redis.HasErrorPrefix(err, "ERR no such key") {
		return noReport, nil
	}
	if err != nil {
		return "", unavailable("look at reports", err)
	}
	// Read by hand: the client's own reader fails on what a newer Redis adds.
	const name = "last-generated-id"
	switch facts := answer.(type) {
	case map[any]any:
		if id, ok := facts[name].(string); ok {
			return id, nil
		}
	case []any:
		for i := 0; i+1 < len(facts); i += 2 {
			if id, ok := facts[i+1].(string); ok && facts[i] == name {
				return id, nil
			}
		}
	}
	return "", unavailable("look at reports", errors.New("the stream does not say its last id"))
}

// Beyond reports whether the position a of a stream stands after b. What is no
// position stands nowhere.
func Beyond(a, b string) bool {
	aMilli, aSeq, okA := position(a)
	bMilli, bSeq, okB := position(b)
	return okA && okB && (aMilli > bMilli || aMilli == bMilli && aSeq > bSeq)
}

func position(s string) (milli, seq uint64, ok bool) {
	left, right, _ := strings.Cut(s, "-")
	milli, err1 := strconv.ParseUint(left, 10, 64)
	seq, err2 := strconv.ParseUint(right, 10, 64)
	return milli, seq, err1 == nil && err2 == nil
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

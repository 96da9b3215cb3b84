package web

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// Limits of a list.
const (
	defaultLimit = 50
	maxLimit     = 500
	maxQuery     = 1000 // runes of the search text
	maxType      = 4096 // bytes of a failure type
	maxRetries   = math.MaxInt32
)

// query is what a list of messages was asked for, as it stood in the address.
type query struct {
	Text, Source, Reason, Mark, Type, RetriesMin, RetriesMax string
	States                                                   []string
	Cursor, Limit                                            string
}

func queryOf(v url.Values) query {
	return query{
		Text: strings.TrimSpace(v.Get("q")), Source: v.Get("source"), Reason: v.Get("reason"), Mark: v.Get("mark"), Type: v.Get("type"),
		RetriesMin: strings.TrimSpace(v.Get("retries_min")), RetriesMax: strings.TrimSpace(v.Get("retries_max")),
		States: nonEmpty(v["state"]), Cursor: v.Get("cursor"), Limit: v.Get("limit"),
	}
}

func nonEmpty(values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
}

// values returns q without its place in the list.
func (q query) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"q": q.Text, "source": q.Source, "reason": q.Reason, "mark": q.Mark, "type": q.Type, "retries_min": q.RetriesMin, "retries_max": q.RetriesMax,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for _, state := range q.States {
		v.Add("state", state)
	}
	return v
}

// on returns the address of path with q.
func (q query) on(path string) string {
	if v := q.values(); len(v) > 0 {
		return path + "?" + v.Encode()
	}
	return path
}

// filter checks q and turns it into what the store takes. Each error names the
// parameter.
func (q query) filter() (dlq.Filter, error) {
	f := dlq.Filter{Source: q.Source, Cursor: q.Cursor}
	for _, state := range q.States {
		if !slices.Contains(dlq.States, dlq.State(state)) {
			return f, badQuery("state", fmt.Sprintf("state: %q is no state; states are %s", state, join(dlq.States)))
		}
		f.States = append(f.States, dlq.State(state))
	}
	if q.Reason != "" && !slices.Contains(dlq.Reasons, dlq.Reason(q.Reason)) {
		return f, badQuery("reason", fmt.Sprintf("reason: %q is no reason; reasons are %s", q.Reason, join(dlq.Reasons)))
	}
	f.Reason = dlq.Reason(q.Reason)
	if q.Mark != "" && !slices.Contains(dlq.Marks, dlq.Mark(q.Mark)) {
		return f, badQuery("mark", fmt.Sprintf("mark: %q is no mark; marks are %s", q.Mark, join(dlq.Marks)))
	}
	f.Mark = dlq.Mark(q.Mark)
	if len(q.Type) > maxType || !isText([]byte(q.Type)) {
		return f, badQuery("type", "type: is nothing that a failure could be called")
	}
	f.FailureType = q.Type
	var err error
	if f.Text, err = searchText(q.Text); err != nil {
		return f, err
	}
	if f.RetriesMin, err = retries("retries_min", q.RetriesMin); err != nil {
		return f, err
	}
	if f.RetriesMax, err = retries("retries_max", q.RetriesMax); err != nil {
		return f, err
	}
	if f.RetriesMin != nil && f.RetriesMax != nil && *f.RetriesMin > *f.RetriesMax {
		return f, badQuery("retries_min", fmt.Sprintf("retries_min: %d is greater than retries_max, %d", *f.RetriesMin, *f.RetriesMax))
	}
	f.Limit, err = limit(q.Limit)
	return f, err
}

// selecting is q as a filter of messages there can be: a source that nobody
// has heard of would select nothing and say so with confidence.
func (s *Server) selecting(ctx context.Context, q query) (dlq.Filter, error) {
	f, err := q.filter()
	if err != nil {
		return f, err
	}
	f.Now = s.Now()
	known := func(status dlq.SourceStatus) bool { return status.Name == q.Source }
	if q.Source == "" || slices.ContainsFunc(s.Sources.Statuses(), known) {
		return f, nil
	}
	counts, err := s.Messages.OpenCounts(ctx) // it may have left the configuration
	if err != nil {
		return f, err
	}
	if _, stored := counts[q.Source]; !stored {
		return f, badQuery("source", fmt.Sprintf("source: there is no source %q", q.Source))
	}
	return f, nil
}

// fields of the query language that has yet to come: taking them for words of
// a body would find nothing and say so with confidence.
var queryFields = []string{"source:", "state:", "reason:", "retries:", "age:", "died:", "key:", "verdict:", "header.", "body."}

// searchText returns the phrase to look for in bodies. Quotes around the whole
// of it are dropped, and make it a phrase whatever it looks like.
func searchText(q string) (string, error) {
	if len(q) > 1 && q[0] == '"' && strings.IndexByte(q[1:], '"') == len(q)-2 {
		return q[1 : len(q)-1], nil
	}
	if len([]rune(q)) > maxQuery {
		return "", badQuery("q", fmt.Sprintf("q: at most %d characters", maxQuery))
	}
	if strings.ContainsRune(q, 0) || strings.ToValidUTF8(q, "") != q {
		return "", badQuery("q", "q: is not text")
	}
	position := 0
	for word := range strings.FieldsSeq(q) {
		position = strings.Index(q[position:], word) + position
		for _, field := range queryFields {
			if strings.HasPrefix(word, field) {
				return "", queryPosition{bad{400, "bad_query", "q", fmt.Sprintf(
					"q: %s at column %d is not understood: q takes words of the body; use the parameters source, state, reason, type, retries_min and retries_max, or put the text in quotes",
					field, len([]rune(q[:position]))+1)}, len([]rune(q[:position])) + 1}
			}
		}
		position += len(word)
	}
	return q, nil
}

// queryPosition is a bad query that knows where it is bad, counted from 1.
type queryPosition struct {
	bad
	position int
}

func (p queryPosition) Unwrap() error { return p.bad }

func retries(name, value string) (*int64, error) {
	if value == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 || n > maxRetries {
		return nil, badQuery(name, fmt.Sprintf("%s: takes a number from 0; %q is none", name, value))
	}
	return &n, nil
}

func limit(value string) (int, error) {
	if value == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(value)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (n < 1 || n > maxLimit):
		return 0, badQuery("limit", fmt.Sprintf("limit: %s is not between 1 and %d", value, maxLimit))
	case err != nil:
		return 0, badQuery("limit", fmt.Sprintf("limit: %q is no number", value))
	}
	return n, nil
}

func join[T ~string](words []T) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = string(w)
	}
	return strings.Join(parts, ", ")
}

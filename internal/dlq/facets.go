package dlq

import (
	"context"
	"fmt"
)

// Facets are counts for the filter column: for each source, state and reason
// how many messages a filter would select with that word in the place of its
// own. Each is counted among the newest 10,000 that match; Exact is false where
// there are more.
type Facets struct {
	Sources map[string]int64
	States  map[State]int64
	Reasons map[Reason]int64
	Exact   bool
}

// Facets returns the counts beside the list that f selects.
func (s *Store) Facets(ctx context.Context, f Filter) (Facets, error) {
	f.Cursor = ""
	out := Facets{Exact: true}
	anySource, anyState, anyReason := f, f, f
	anySource.Source, anyState.States, anyReason.Reason = "", nil, ""
	var err error
	if out.Sources, err = facet[string](ctx, s, "source", anySource, &out.Exact); err != nil {
		return Facets{}, err
	}
	if out.States, err = facet[State](ctx, s, "state", anyState, &out.Exact); err != nil {
		return Facets{}, err
	}
	if out.Reasons, err = facet[Reason](ctx, s, "reason", anyReason, &out.Exact); err != nil {
		return Facets{}, err
	}
	return out, nil
}

// facetSQL counts by each column that facets are made of.
var facetSQL = map[string]string{
	"source": facetBy("source"), "state": facetBy("state"), "reason": facetBy("reason"),
}

func facetBy(column string) string {
	return `SELECT word, count(*) FROM (SELECT m.` + column + ` AS word FROM dead_letters m WHERE ` + matches + `
		ORDER BY m.died_at DESC, m.id DESC LIMIT @limit) AS newest GROUP BY word`
}

func facet[W ~string](ctx context.Context, s *Store, column string, f Filter, exact *bool) (map[W]int64, error) {
	args, err := f.args()
	if err != nil {
		return nil, err
	}
	args["limit"] = maxExact + 1
	rows, err := s.pool.Query(ctx, facetSQL[column], planned, args)
	if err != nil {
		return nil, fmt.Errorf("dlq: count by %s: %w", column, err)
	}
	defer rows.Close()
	counts, total := map[W]int64{}, int64(0)
	for rows.Next() {
		var word string
		var n int64
		if err := rows.Scan(&word, &n); err != nil {
			return nil, fmt.Errorf("dlq: count by %s: %w", column, err)
		}
		counts[W(word)] = n
		total += n
	}
	if total > maxExact {
		*exact = false
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("dlq: count by %s: %w", column, err)
	}
	return counts, nil
}

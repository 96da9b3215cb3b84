package dlq

import (
	"context"
	"fmt"
)

// maxTypes bounds Facets.Types.
const maxTypes = 10

// Facets are counts for the filter column: for each source, state, reason and
// failure type how many messages a filter would select with that word in the
// place of its own; of the types only the most frequent, at most eleven. Each
// is counted among the newest 10,000 that match; Exact is false where there are
// more.
type Facets struct {
	Sources map[string]int64
	States  map[State]int64
	Reasons map[Reason]int64
	Types   map[string]int64
	Exact   bool
}

// Facets returns the counts beside the list that f selects.
func (s *Store) Facets(ctx context.Context, f Filter) (Facets, error) {
	f.Cursor = ""
	out := Facets{Exact: true}
	anySource, anyState, anyReason, anyType := f, f, f, f
	anySource.Source, anyState.States, anyReason.Reason, anyType.FailureType = "", nil, "", ""
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
	if out.Types, err = facet[string](ctx, s, "failure_type", anyType, &out.Exact); err != nil {
		return Facets{}, err
	}
	delete(out.Types, "") // those whose type is not known
	return out, nil
}

// facetSQL counts by a column of dead_letters.
func facetSQL(column, where string) string {
	return `SELECT coalesce(word, ''), count(*), (sum(count(*)) OVER ())::bigint FROM (SELECT m.` + column + ` AS word FROM dead_letters m WHERE ` + where + `
		ORDER BY m.died_at DESC, m.id DESC LIMIT @limit) AS newest GROUP BY word ORDER BY count(*) DESC, word LIMIT @words`
}

func facet[W ~string](ctx context.Context, s *Store, column string, f Filter, exact *bool) (map[W]int64, error) {
	where, args, err := s.condition(ctx, f)
	if err != nil {
		return nil, err
	}
	args["limit"], args["words"] = maxExact+1, maxExact+1
	if column == "failure_type" {
		args["words"] = maxTypes + 1 // one may be "not known"
	}
	rows, err := s.pool.Query(ctx, facetSQL(column, where), planned, args)
	if err != nil {
		return nil, fmt.Errorf("dlq: count by %s: %w", column, err)
	}
	defer rows.Close()
	counts, total := map[W]int64{}, int64(0)
	for rows.Next() {
		var word string
		var n int64
		if err := rows.Scan(&word, &n, &total); err != nil {
			return nil, fmt.Errorf("dlq: count by %s: %w", column, err)
		}
		counts[W(word)] = n
	}
	if total > maxExact {
		*exact = false
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("dlq: count by %s: %w", column, err)
	}
	return counts, nil
}

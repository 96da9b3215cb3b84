package pgtest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// step is what EXPLAIN says of one step of a plan.
type step struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Removed  float64 `json:"Rows Removed by Filter"`
	Plans    []step  `json:"Plans"`
}

// RowsRead runs a query, planned for these very arguments, and returns how many
// rows of tables it looked at. It fails the test where a table was read without
// an index; so that Postgres has no reason to, the tables must be large enough
// and analyzed.
func RowsRead(tb testing.TB, pool *pgxpool.Pool, sql string, args pgx.NamedArgs) int {
	tb.Helper()
	var answer []byte
	explain := "EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) " + sql
	if err := pool.QueryRow(tb.Context(), explain, pgx.QueryExecModeCacheDescribe, args).Scan(&answer); err != nil {
		tb.Fatalf("pgtest: explain: %v", err)
	}
	var plans []struct{ Plan step }
	if err := json.Unmarshal(answer, &plans); err != nil {
		tb.Fatalf("pgtest: explain: %v", err)
	}
	rows, whole := plans[0].Plan.read()
	if len(whole) > 0 {
		tb.Errorf("read without an index: %v\n%s", slices.Compact(whole), answer)
	}
	return rows
}

// read counts the rows of tables that a step and those below it looked at, and
// names the tables that were read whole.
func (s step) read() (rows int, whole []string) {
	if s.Relation != "" {
		rows = int((s.Rows + s.Removed) * s.Loops)
		if s.Type == "Seq Scan" {
			whole = append(whole, s.Relation)
		}
	}
	for _, below := range s.Plans {
		r, w := below.read()
		rows, whole = rows+r, append(whole, w...)
	}
	return rows, whole
}

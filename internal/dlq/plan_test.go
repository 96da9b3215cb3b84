package dlq

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// planNode is what EXPLAIN says of one step.
type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Rows     float64    `json:"Actual Rows"`
	Loops    float64    `json:"Actual Loops"`
	Removed  float64    `json:"Rows Removed by Filter"`
	Plans    []planNode `json:"Plans"`
}

// read counts the rows of tables that a step and those below it looked at, and
// names the tables that were read whole.
func (n planNode) read() (rows int, whole []string) {
	if n.Relation != "" {
		rows = int((n.Rows + n.Removed) * n.Loops)
		if n.Type == "Seq Scan" {
			whole = append(whole, n.Relation)
		}
	}
	for _, below := range n.Plans {
		r, w := below.read()
		rows, whole = rows+r, append(whole, w...)
	}
	return rows, whole
}

// rowsRead runs a query and returns how many rows of tables it looked at. It
// fails where a table was read without an index.
func rowsRead(t *testing.T, pool *pgxpool.Pool, sql string, args map[string]any) int {
	t.Helper()
	var answer []byte
	err := pool.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) "+sql, planned, pgx.NamedArgs(args)).Scan(&answer)
	if err != nil {
		t.Fatal(err)
	}
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(answer, &plans); err != nil {
		t.Fatal(err)
	}
	rows, whole := plans[0].Plan.read()
	if len(whole) > 0 {
		t.Errorf("read without an index: %s\n%s", strings.Join(whole, ", "), answer)
	}
	return rows
}

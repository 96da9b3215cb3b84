package pgtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

func TestNewIsMigratedAndReachableByURL(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)

	var inPool, byURL string
	schema(t, pool, &inPool)
	other, err := pgxpool.New(t.Context(), pgtest.URL(pool))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	schema(t, other, &byURL)
	if inPool == "public" || inPool != byURL {
		t.Errorf("schema by pool %q and by URL %q: want the same, of the test's own", inPool, byURL)
	}
	var n int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM dead_letters").Scan(&n); err != nil {
		t.Errorf("migrated table: %v", err)
	}
}

// A schema that outlived its test would fill the server run by run.
func TestSchemaGoesWithTheTest(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("inner", func(t *testing.T) { schema(t, pgtest.Empty(t), &name) })

	var left int
	pool := pgtest.Empty(t)
	const query = "SELECT count(*) FROM pg_namespace WHERE nspname = $1"
	if err := pool.QueryRow(t.Context(), query, name).Scan(&left); err != nil {
		t.Fatal(err)
	}
	if left != 0 {
		t.Errorf("schema %s is still there", name)
	}
}

func schema(t *testing.T, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, name *string,
) {
	t.Helper()
	if err := db.QueryRow(t.Context(), "SELECT current_schema()").Scan(name); err != nil {
		t.Fatal(err)
	}
}

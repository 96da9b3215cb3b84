// Package pgtest lends tests a real PostgreSQL: each test a schema of its own,
// so that tests share a server and nothing else.
package pgtest

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/services"
	"github.com/seed-d2bf649b/dead-letter-office/migrations"
)

// cleanupTimeout bounds the dropping of a schema that something still uses.
const cleanupTimeout = 30 * time.Second

// New returns a pool on a new schema with all migrations applied. Pool and
// schema go when the test ends.
func New(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	pool := Empty(tb)
	if err := migrations.Apply(tb.Context(), pool); err != nil {
		tb.Fatalf("pgtest: apply migrations: %v", err)
	}
	return pool
}

// Empty is New without the migrations.
func Empty(tb testing.TB) *pgxpool.Pool {
	tb.Helper()
	server := services.URL(tb, "POSTGRES")
	schema := "test_" + strings.ToLower(rand.Text())
	exec(tb, server, "CREATE SCHEMA "+schema)
	tb.Cleanup(func() { exec(tb, server, "DROP SCHEMA "+schema+" CASCADE") })

	pool, err := pgxpool.New(tb.Context(), withSearchPath(tb, server, schema))
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

// URL returns an address by which another process reaches pool's schema.
func URL(pool *pgxpool.Pool) string {
	return pool.Config().ConnString()
}

// withSearchPath adds the search path to a server's address. The schema public
// comes second, because extensions live there.
func withSearchPath(tb testing.TB, server, schema string) string {
	tb.Helper()
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatal("pgtest: DLO_TEST_POSTGRES_URL is not a URL")
	}
	q := u.Query()
	q.Set("search_path", schema+",public")
	u.RawQuery = q.Encode()
	return u.String()
}

// exec runs one statement on a connection of its own. It has its own context
// because at cleanup the test's is already cancelled.
func exec(tb testing.TB, server, statement string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		tb.Fatalf("pgtest: %s: %v", statement, err)
	}
}

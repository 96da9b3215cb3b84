package main

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
)

// statements tells which SQL a drain spent its time on, where the server was
// started to count it (-statements).
func (b *bench) statements(ctx context.Context) error {
	if !b.options.statements {
		return nil
	}
	const sql = `
		SELECT calls, total_exec_time AS ms, wal_bytes::float8 / 1e6 AS mb, regexp_replace(query, '\s+', ' ', 'g') AS query
		FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
		ORDER BY total_exec_time DESC LIMIT 12`
	rows, err := b.store.conn.Query(ctx, sql)
	if err != nil {
		return err
	}
	var calls int64
	var ms, mb float64
	var query string
	_, err = pgx.ForEachRow(rows, []any{&calls, &ms, &mb, &query}, func() error {
		progress("%8d calls %8.0f ms %6.1f MB of WAL  %s", calls, ms, mb, start(query))
		return nil
	})
	return err
}

// countStatements starts to count anew.
func (b *bench) countStatements(ctx context.Context) error {
	if !b.options.statements {
		return nil
	}
	_, err := b.store.conn.Exec(ctx, "SELECT pg_stat_statements_reset()")
	return err
}

// start is the beginning of a long text.
func start(s string) string {
	const most = 150
	if letters := []rune(s); len(letters) > most {
		return strings.TrimSpace(string(letters[:most])) + "…"
	}
	return s
}

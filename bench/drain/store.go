package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// table is one that the drain writes, in the order in which it may be filled.
type table struct {
	name string
	key  string // the column that holds a dead letter's id; "": one row for each window
}

var (
	drained    = []table{{"dead_letters", "id"}, {"lives", "message_id"}, {"windows", ""}}
	searchText = table{"body_texts", "message_id"}
	// aside are tables in which a drain leaves no row for each message or window.
	aside = []string{"source_settings", "audit", "schema_migrations"}
)

// errNoExtension: the server has no pgstattuple.
var errNoExtension = errors.New("not measured, the server has no extension pgstattuple")

// store is our side of the console's database.
type store struct {
	conn *pgx.Conn
}

// check fails if there is a table with rows that the store's limit leaves out:
// the figure would flatter the console.
func (s store) check(ctx context.Context) error {
	const sql = `
		SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r','p')
			AND NOT relname = ANY ($1) ORDER BY relname`
	known := append([]string{searchText.name}, aside...)
	for _, t := range drained {
		known = append(known, t.name)
	}
	rows, err := s.conn.Query(ctx, sql, known)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		var filled bool
		sql := "SELECT EXISTS (SELECT FROM " + pgx.Identifier{name}.Sanitize() + ")"
		if err := s.conn.QueryRow(ctx, sql).Scan(&filled); err != nil {
			return err
		}
		if filled {
			return fmt.Errorf("the drain fills table %s, which the store's limit does not know: add it to bench/drain", name)
		}
	}
	return nil
}

// empty truncates all that a drain fills and what refers to it, and starts each
// measurement at the same place of the server's checkpoints.
func (s store) empty(ctx context.Context) error {
	names := []string{searchText.name}
	for _, t := range drained {
		names = append(names, t.name)
	}
	if _, err := s.conn.Exec(ctx, "TRUNCATE "+strings.Join(names, ", ")+" CASCADE"); err != nil {
		return err
	}
	_, err := s.conn.Exec(ctx, "CHECKPOINT")
	return err
}

func (s store) count(ctx context.Context) (n int, err error) {
	err = s.conn.QueryRow(ctx, "SELECT count(*) FROM dead_letters").Scan(&n)
	return n, err
}

// searchable says whether search text was made for all that was drained.
func (s store) searchable(ctx context.Context) (done bool, err error) {
	err = s.conn.QueryRow(ctx, "SELECT NOT EXISTS (SELECT FROM windows WHERE NOT searchable)").Scan(&done)
	return done, err
}

// texts is how many messages have search text.
func (s store) texts(ctx context.Context) (n int, err error) {
	err = s.conn.QueryRow(ctx, "SELECT count(*) FROM "+searchText.name).Scan(&n)
	return n, err
}

// windows is how many transactions the drain took.
func (s store) windows(ctx context.Context) (n int, err error) {
	err = s.conn.QueryRow(ctx, "SELECT count(*) FROM windows").Scan(&n)
	return n, err
}

// deadTuples is how many dead tuples there are for each live one in the tables
// of the drain and their TOAST, and how many bytes of all they take.
func (s store) deadTuples(ctx context.Context) (tuples, bytes float64, err error) {
	const sql = `
		WITH t AS (SELECT oid AS id FROM pg_class WHERE oid = ANY ($1::regclass[])
			UNION ALL SELECT reltoastrelid FROM pg_class WHERE oid = ANY ($1::regclass[]) AND reltoastrelid <> 0)
		SELECT coalesce(sum(dead_tuple_count) / nullif(sum(tuple_count), 0), 0)::float8,
			coalesce(sum(dead_tuple_len) / nullif(sum(table_len), 0), 0)::float8
		FROM t, pgstattuple(t.id::regclass)`
	var there bool
	const asked = `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pgstattuple')`
	if err := s.conn.QueryRow(ctx, asked).Scan(&there); err != nil || !there {
		return 0, 0, errors.Join(err, errNoExtension)
	}
	names := make([]string, len(drained))
	for i, t := range drained {
		names[i] = t.name
	}
	err = s.conn.QueryRow(ctx, sql, names).Scan(&tuples, &bytes)
	return tuples, bytes, err
}

// bytes is what the tables take on disk, with indexes and TOAST.
func (s store) bytes(ctx context.Context, tables []table) (sum int64, err error) {
	for _, t := range tables {
		var n int64
		if err := s.conn.QueryRow(ctx, "SELECT pg_total_relation_size($1::regclass)", t.name).Scan(&n); err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// commit is how long a commit of one small row takes: what the disk costs.
func (s store) commit(ctx context.Context) (time.Duration, error) {
	if _, err := s.conn.Exec(ctx, "CREATE TABLE commit_time (n int)"); err != nil {
		return 0, err
	}
	const commits = 100
	began := time.Now()
	for n := range commits {
		if _, err := s.conn.Exec(ctx, "INSERT INTO commit_time VALUES ($1)", n); err != nil {
			return 0, err
		}
	}
	took := time.Since(began) / commits
	_, err := s.conn.Exec(ctx, "DROP TABLE commit_time")
	return took, err
}

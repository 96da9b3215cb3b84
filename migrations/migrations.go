// Package migrations holds the console's schema as numbered SQL files and
// applies those that a database does not have yet. It only goes forward: a
// migration that has been released is never edited or undone.
package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed *.sql
var files embed.FS

// lockID serialises migrations of one database: an arbitrary number that
// nothing else in the console locks.
const lockID = 0x444c4f01

// ErrBehind says that the database lacks migrations that this binary needs.
var ErrBehind = errors.New("the database schema is older than this binary: run `console migrate`")

// ErrAhead says that the database was migrated by a newer binary.
var ErrAhead = errors.New("the database schema is newer than this binary: run the newer binary, or restore the database")

// migration is one numbered file.
type migration struct {
	version int
	name    string
	sql     string
}

// Apply brings the schema of pool's search_path up to this binary's version,
// all missing migrations in one transaction. Consoles that start together
// wait for each other. It returns ErrAhead, and changes nothing, where the
// schema is newer than the binary.
func Apply(ctx context.Context, pool *pgxpool.Pool) error {
	all, err := load()
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", lockID); err != nil {
			return fmt.Errorf("migrations: lock: %w", err)
		}
		const table = `CREATE TABLE IF NOT EXISTS schema_migrations (
			version    integer     PRIMARY KEY,
			name       text        NOT NULL,
			applied_at timestamptz NOT NULL DEFAULT now())`
		if _, err := tx.Exec(ctx, table); err != nil {
			return fmt.Errorf("migrations: create schema_migrations: %w", err)
		}
		done, err := version(ctx, tx)
		if err != nil {
			return err
		}
		if done > all[len(all)-1].version {
			return ErrAhead
		}
		for _, m := range all {
			if m.version <= done {
				continue
			}
			if err := m.apply(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
}

// Check returns nil where the schema is this binary's own, else ErrBehind or
// ErrAhead. It changes nothing.
func Check(ctx context.Context, pool *pgxpool.Pool) error {
	all, err := load()
	if err != nil {
		return err
	}
	done, err := version(ctx, pool)
	if err != nil {
		return err
	}
	switch newest := all[len(all)-1].version; {
	case done < newest:
		return ErrBehind
	case done > newest:
		return ErrAhead
	}
	return nil
}

// querier is what version needs of a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// version returns the newest migration the schema has, 0 where it has none.
func version(ctx context.Context, db querier) (int, error) {
	var n int
	err := db.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM schema_migrations").Scan(&n)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "42P01" { // undefined_table
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("migrations: read version: %w", err)
	}
	return n, nil
}

func (m migration) apply(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, m.sql); err != nil {
		return fmt.Errorf("migrations: apply %s: %w", m.name, err)
	}
	const note = "INSERT INTO schema_migrations (version, name) VALUES ($1, $2)"
	if _, err := tx.Exec(ctx, note, m.version, m.name); err != nil {
		return fmt.Errorf("migrations: note %s: %w", m.name, err)
	}
	return nil
}

// load returns the embedded migrations in the order of their numbers.
func load() ([]migration, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, fmt.Errorf("migrations: read embedded files: %w", err)
	}
	all := make([]migration, 0, len(entries))
	for _, e := range entries {
		number, _, ok := strings.Cut(e.Name(), "_")
		v, err := strconv.Atoi(number)
		if !ok || err != nil {
			return nil, fmt.Errorf("migrations: %s does not start with a number and an underscore", e.Name())
		}
		sql, err := files.ReadFile(e.Name())
		if err != nil {
			return nil, fmt.Errorf("migrations: read %s: %w", e.Name(), err)
		}
		all = append(all, migration{version: v, name: e.Name(), sql: string(sql)})
	}
	return all, nil
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/config"
)

// openPool prepares connections to a Postgres; it opens none, so it succeeds
// also while the server is down.
func openPool(address config.Secret, application string) (*pgxpool.Pool, error) {
	settings, err := poolConfig(address, application)
	if err != nil {
		return nil, err
	}
	return pgxpool.NewWithConfig(context.Background(), settings)
}

// openStore prepares the connections that pages, drains and replays share. A
// statement that waits or runs for too long ends, so that one of them never
// hangs a page.
func openStore(address config.Secret) (*pgxpool.Pool, error) {
	settings, err := poolConfig(address, "dead-letter-office")
	if err != nil {
		return nil, err
	}
	settings.ConnConfig.RuntimeParams["statement_timeout"] = "30s"
	settings.ConnConfig.RuntimeParams["lock_timeout"] = "10s"
	return pgxpool.NewWithConfig(context.Background(), settings)
}

// writable returns an error where the database answers and takes no writes: a
// standby, or one that was set to read-only.
func writable(ctx context.Context, pool *pgxpool.Pool) error {
	var readOnly bool
	const sql = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean"
	if err := pool.QueryRow(ctx, sql).Scan(&readOnly); err != nil {
		return err
	}
	if readOnly {
		return errors.New("the database is read-only: nothing can be drained, replayed or noted")
	}
	return nil
}

// openProbePool prepares few, read-only connections to a business database.
func openProbePool(address config.Secret) (*pgxpool.Pool, error) {
	settings, err := poolConfig(address, "dead-letter-office probe")
	if err != nil {
		return nil, err
	}
	settings.MaxConns = 4
	settings.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	return pgxpool.NewWithConfig(context.Background(), settings)
}

func poolConfig(address config.Secret, application string) (*pgxpool.Config, error) {
	settings, err := pgxpool.ParseConfig(address.Reveal())
	if err != nil { // the parser's words may repeat the password
		return nil, fmt.Errorf("%s is not a Postgres URL or connection string", address)
	}
	settings.ConnConfig.RuntimeParams["application_name"] = application
	settings.ConnConfig.ConnectTimeout = connectTimeout
	return settings, nil
}

package main

import (
	"context"
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

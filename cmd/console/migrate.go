package main

import (
	"context"
	"fmt"

	"github.com/seed-d2bf649b/dead-letter-office/internal/config"
	"github.com/seed-d2bf649b/dead-letter-office/migrations"
)

// migrate brings the console's own database up to this binary's schema.
func migrate(ctx context.Context, s settings) error {
	c, _, err := config.Load(s.input, config.ForMigrate)
	if err != nil {
		return err
	}
	pool, err := openPool(c.Database.URL, "console migrate")
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := migrations.Apply(ctx, pool); err != nil {
		return err
	}
	fmt.Fprintln(s.stdout, "the database schema is up to date")
	return nil
}

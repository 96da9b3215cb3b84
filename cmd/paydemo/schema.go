package main

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed schema.sql
var schema string

// Users that the system starts with. The poor cannot pay what most orders cost.
var (
	richUsers = []int64{10001, 10002, 10003, 10004, 10005, 10006, 10007, 10086}
	poorUsers = []int64{20001, 20002, 20003}
)

const (
	richOpening = Cents(100_000_000)
	poorOpening = Cents(500)
)

// schemaLock keeps processes that start together from creating tables at once.
const schemaLock = 7_310_412

// applySchema creates the tables that are missing, and the accounts to start
// with. A unique index that was taken off stays off.
func applySchema(ctx context.Context, pool *pgxpool.Pool) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, schemaLock); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, schema); err != nil {
			return err
		}
		for _, user := range richUsers {
			if err := openAccount(ctx, tx, user, richOpening); err != nil {
				return err
			}
		}
		for _, user := range poorUsers {
			if err := openAccount(ctx, tx, user, poorOpening); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("paydemo: apply schema: %w", err)
	}
	return nil
}

// addIndexGuard adds the unique index of guard 3 where it is missing.
func addIndexGuard(ctx context.Context, tx pgx.Tx) error {
	const add = `
		DO $$ BEGIN
			ALTER TABLE t_account_flow ADD CONSTRAINT uk_biz_no_type UNIQUE (biz_no, type);
		EXCEPTION WHEN duplicate_table OR duplicate_object THEN NULL;
		END $$`
	_, err := tx.Exec(ctx, add)
	return err
}

// setIndexGuard switches guard 3 on or off. It cannot be switched on again
// while a charge is there twice.
func setIndexGuard(ctx context.Context, pool *pgxpool.Pool, on bool) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, schemaLock); err != nil {
			return err
		}
		if on {
			return addIndexGuard(ctx, tx)
		}
		_, err := tx.Exec(ctx, `ALTER TABLE t_account_flow DROP CONSTRAINT IF EXISTS uk_biz_no_type`)
		return err
	})
	if err != nil {
		return fmt.Errorf("paydemo: switch the unique index: %w", err)
	}
	return nil
}

// openAccount does nothing for a user who has an account. It asks by the
// account alone, so that it works without the unique index as well.
func openAccount(ctx context.Context, tx pgx.Tx, user int64, opening Cents) error {
	const account = `INSERT INTO t_account (user_id, balance) VALUES (@user, @amount::numeric) ON CONFLICT (user_id) DO NOTHING`
	args := pgx.NamedArgs{"user": user, "amount": opening.String(), "biz_no": fmt.Sprintf("OPENING-%d", user)}
	tag, err := tx.Exec(ctx, account, args)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	const flow = `INSERT INTO t_account_flow (user_id, amount, biz_no, type) VALUES (@user, @amount::numeric, @biz_no, 'OPENING')`
	_, err = tx.Exec(ctx, flow, args)
	return err
}

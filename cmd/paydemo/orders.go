package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errNotPossible is wrapped by what a form asks for and the books do not allow.
var errNotPossible = errors.New("not possible")

// newOrderNo makes a number like P20260928K3J5XQ7ABC.
func newOrderNo(now time.Time) string {
	return "P" + now.UTC().Format("20060102") + rand.Text()[:10]
}

// createOrder inserts an order as INIT, with the fault that it is to meet, ""
// for none.
func createOrder(ctx context.Context, pool *pgxpool.Pool, m paySuccess, fault string) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		const order = `INSERT INTO t_order (order_no, user_id, amount, status) VALUES (@order, @user, @amount::numeric, 'INIT')`
		args := pgx.NamedArgs{
			"order": m.OrderNo, "user": m.UserID, "amount": m.Amount.String(),
			"name": orderControl(m.OrderNo), "fault": fault,
		}
		if _, err := tx.Exec(ctx, order, args); err != nil || fault == "" {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO t_control (name, value) VALUES (@name, @fault)`, args)
		return err
	})
}

// findOrder returns what a producer would say of the order.
func findOrder(ctx context.Context, pool *pgxpool.Pool, orderNo string) (paySuccess, error) {
	const query = `SELECT order_no, user_id, amount::text, created_at FROM t_order WHERE order_no = $1`
	var m paySuccess
	var amount string
	err := pool.QueryRow(ctx, query, orderNo).Scan(&m.OrderNo, &m.UserID, &amount, &m.PaidAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return m, fmt.Errorf("%w: there is no order %s", errNotPossible, orderNo)
	}
	if err != nil {
		return m, err
	}
	m.Amount, err = parseCents(amount)
	return m, err
}

// refundOrder moves an order to REFUNDED. What was charged comes back as a flow
// of its own; the charge stays in the books.
func refundOrder(ctx context.Context, pool *pgxpool.Pool, orderNo string) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		const order = `
			UPDATE t_order SET status = 'REFUNDED', updated_at = now()
			WHERE order_no = $1 AND status IN ('INIT', 'PAID', 'SETTLED')`
		tag, err := tx.Exec(ctx, order, orderNo)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("%w: there is no order %s to refund", errNotPossible, orderNo)
		}
		const flow = `
			WITH back AS (
				INSERT INTO t_account_flow (user_id, amount, biz_no, type)
				SELECT user_id, -amount, biz_no, 'REFUND' FROM t_account_flow
				WHERE biz_no = $1 AND type = 'PAY_DEDUCT' ORDER BY id LIMIT 1
				RETURNING user_id, amount
			)
			UPDATE t_account a SET balance = balance + back.amount FROM back WHERE a.user_id = back.user_id`
		_, err = tx.Exec(ctx, flow, orderNo)
		return err
	})
}

// topUp adds money to an account, as a flow.
func topUp(ctx context.Context, pool *pgxpool.Pool, user int64, amount Cents) error {
	if amount <= 0 {
		return fmt.Errorf("%w: the amount must be more than 0", errNotPossible)
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"user": user, "amount": amount.String(), "biz_no": "TOPUP-" + rand.Text()}
		tag, err := tx.Exec(ctx, `UPDATE t_account SET balance = balance + @amount::numeric WHERE user_id = @user`, args)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("%w: user %d has no account", errNotPossible, user)
		}
		const flow = `INSERT INTO t_account_flow (user_id, amount, biz_no, type) VALUES (@user, @amount::numeric, @biz_no, 'TOP_UP')`
		_, err = tx.Exec(ctx, flow, args)
		return err
	})
}

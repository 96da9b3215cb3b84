package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/guard"
)

// Names under which the handler's guards report.
const (
	guardState  = "order state"
	guardEffect = "account flow"
)

// payer does the work of one message: guards 2 and 3, and the bank. Each guard
// can be off, to show what the original incident did.
type payer struct {
	pool       *pgxpool.Pool
	controls   controls
	bank       bank
	stateGuard bool
	indexGuard bool
	lateInside bool // the notice inside the run, as in the incident: its failure fails the run
	crash      func()
}

// handle is the guard package's Handler.
func (p *payer) handle(ctx context.Context, d amqp.Delivery, orderNo string) error {
	m, err := decodePaySuccess(d.Body)
	if err != nil {
		return guard.Unrecoverable(guard.Typed("BAD_MESSAGE", err))
	}
	if err := p.crashIf(ctx, orderNo, faultCrashAfterKey); err != nil {
		return err
	}
	if err := p.pay(ctx, m); err != nil {
		return err
	}
	if err := p.crashIf(ctx, orderNo, faultCrashAfterCommit); err != nil {
		return err
	}
	if p.lateInside {
		return p.notify(ctx, orderNo)
	}
	return nil
}

// after is the guard package's late step.
func (p *payer) after(ctx context.Context, _ amqp.Delivery, orderNo string) error {
	if p.lateInside {
		return nil
	}
	return p.notify(ctx, orderNo)
}

// pay makes all changes of the business database in one transaction. The bank
// is asked last, when nothing of ours can refuse any more; if the commit fails
// after that, the next run asks it with the same key.
func (p *payer) pay(ctx context.Context, m paySuccess) error {
	tx, err := p.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if err := p.takeOrder(ctx, tx, m.OrderNo); err != nil {
		return err
	}
	there, err := p.deduct(ctx, tx, m)
	if err != nil {
		return err
	}
	if there {
		return errors.Join(tx.Commit(ctx), guard.Duplicate(guardEffect))
	}
	if err := p.bank.charge(ctx, m.OrderNo, m.Amount); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// takeOrder is guard 2: only one run moves the order from INIT to PAID.
func (p *payer) takeOrder(ctx context.Context, tx pgx.Tx, orderNo string) error {
	if !p.stateGuard {
		_, err := tx.Exec(ctx, `UPDATE t_order SET status = 'PAID', updated_at = now() WHERE order_no = $1`, orderNo)
		return err
	}
	const query = `UPDATE t_order SET status = 'PAID', updated_at = now() WHERE order_no = $1 AND status = 'INIT'`
	tag, err := tx.Exec(ctx, query, orderNo)
	if err != nil || tag.RowsAffected() == 1 {
		return err
	}
	var status string
	err = tx.QueryRow(ctx, `SELECT status FROM t_order WHERE order_no = $1`, orderNo).Scan(&status)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return guard.Refused(guardState, guard.Typed("ORDER_NOT_FOUND", errors.New("there is no such order")))
	case err != nil:
		return err
	case status == "PAID" || status == "SETTLED":
		return guard.Duplicate(guardState)
	}
	return guard.Refused(guardState, guard.Typed("ILLEGAL_ORDER_STATUS", fmt.Errorf("the order is %s", status)))
}

// deduct is guard 3: the flow first, by the unique index, then the balance, by
// a conditional update. there reports that the flow was there already.
func (p *payer) deduct(ctx context.Context, tx pgx.Tx, m paySuccess) (there bool, err error) {
	if !p.indexGuard {
		return false, deductUnguarded(ctx, tx, m)
	}
	const flow = `
		INSERT INTO t_account_flow (user_id, amount, biz_no, type) VALUES (@user, -@amount::numeric, @order, 'PAY_DEDUCT')
		ON CONFLICT ON CONSTRAINT uk_biz_no_type DO NOTHING`
	args := pgx.NamedArgs{"user": m.UserID, "amount": m.Amount.String(), "order": m.OrderNo}
	tag, err := tx.Exec(ctx, flow, args)
	if err != nil || tag.RowsAffected() == 0 {
		return err == nil, err
	}
	const balance = `
		UPDATE t_account SET balance = balance - @amount::numeric
		WHERE user_id = @user AND balance - @amount::numeric >= 0`
	tag, err = tx.Exec(ctx, balance, args)
	if err != nil {
		return false, err
	}
	if tag.RowsAffected() == 0 {
		return false, guard.Typed("BALANCE_NOT_ENOUGH", errors.New("the account's balance is not enough"))
	}
	return false, nil
}

// deductUnguarded reads, then writes, then adds a flow, as the incident's code
// did.
func deductUnguarded(ctx context.Context, tx pgx.Tx, m paySuccess) error {
	args := pgx.NamedArgs{"user": m.UserID, "amount": m.Amount.String(), "order": m.OrderNo}
	var balance string
	const read = `SELECT (balance - @amount::numeric)::text FROM t_account WHERE user_id = @user`
	if err := tx.QueryRow(ctx, read, args).Scan(&balance); err != nil {
		return err
	}
	args["balance"] = balance
	if _, err := tx.Exec(ctx, `UPDATE t_account SET balance = @balance::numeric WHERE user_id = @user`, args); err != nil {
		return err
	}
	const flow = `INSERT INTO t_account_flow (user_id, amount, biz_no, type) VALUES (@user, -@amount::numeric, @order, 'PAY_DEDUCT')`
	_, err := tx.Exec(ctx, flow, args)
	return err
}

// notify is the late step: a notice to the user, which nothing depends on.
func (p *payer) notify(ctx context.Context, orderNo string) error {
	state, err := p.controls.value(ctx, controlNotice)
	if err != nil {
		return err
	}
	failsOnce, err := p.controls.once(ctx, orderNo, faultNotice)
	if err != nil {
		return err
	}
	if state == noticeFails || failsOnce {
		return guard.Typed("NOTICE_FAILED", errors.New("the notice could not be sent"))
	}
	_, err = p.pool.Exec(ctx, `INSERT INTO t_notice (order_no) VALUES ($1)`, orderNo)
	return err
}

func (p *payer) crashIf(ctx context.Context, orderNo, fault string) error {
	told, err := p.controls.once(ctx, orderNo, fault)
	if told {
		p.crash()
	}
	return err
}

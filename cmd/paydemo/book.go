package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// book is what the page and its JSON show of the business database.
type book struct {
	Accounts []account         `json:"accounts"`
	Orders   []order           `json:"orders"` // the newest
	Counts   map[string]int64  `json:"counts"` // orders by status
	Controls map[string]string `json:"controls"`
	// Twice is how many charges there are beyond one for each order, Unbalanced
	// how many accounts whose balance is not the sum of their flows.
	Twice      int64 `json:"twice"`
	Unbalanced int64 `json:"unbalanced"`
}

type account struct {
	UserID  int64  `json:"user_id" db:"user_id"`
	Balance string `json:"balance" db:"balance"`
}

type order struct {
	OrderNo string `json:"order_no" db:"order_no"`
	UserID  int64  `json:"user_id" db:"user_id"`
	Amount  string `json:"amount" db:"amount"`
	Status  string `json:"status" db:"status"`
	Fault   string `json:"fault" db:"fault"`
	Charges int64  `json:"charges" db:"charges"`
}

// readBook reads all of it at one moment. Of the orders it takes those whose
// number begins with orderNo, at most 50.
func readBook(ctx context.Context, pool *pgxpool.Pool, orderNo string) (book, error) {
	var b book
	err := pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) (err error) {
		if b.Accounts, err = readAccounts(ctx, tx); err != nil {
			return err
		}
		if b.Orders, err = readOrders(ctx, tx, orderNo); err != nil {
			return err
		}
		if b.Counts, err = readCounts(ctx, tx); err != nil {
			return err
		}
		if b.Controls, err = readControls(ctx, tx); err != nil {
			return err
		}
		const wrong = `
			SELECT
				(SELECT coalesce(sum(n - 1), 0)::bigint FROM (
					SELECT count(*) AS n FROM t_account_flow WHERE type = 'PAY_DEDUCT' GROUP BY biz_no) AS charges),
				(SELECT count(*) FROM t_account a WHERE balance <> (
					SELECT coalesce(sum(amount), 0) FROM t_account_flow f WHERE f.user_id = a.user_id))`
		return tx.QueryRow(ctx, wrong).Scan(&b.Twice, &b.Unbalanced)
	})
	return b, err
}

func readAccounts(ctx context.Context, tx pgx.Tx) ([]account, error) {
	rows, err := tx.Query(ctx, `SELECT user_id, balance::text AS balance FROM t_account ORDER BY user_id`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[account])
}

func readOrders(ctx context.Context, tx pgx.Tx, orderNo string) ([]order, error) {
	const query = `
		SELECT o.order_no, o.user_id, o.amount::text AS amount, o.status, coalesce(c.value, '') AS fault,
			(SELECT count(*) FROM t_account_flow f WHERE f.biz_no = o.order_no AND f.type = 'PAY_DEDUCT') AS charges
		FROM t_order o LEFT JOIN t_control c ON c.name = 'order:' || o.order_no
		WHERE starts_with(o.order_no, @order)
		ORDER BY o.created_at DESC, o.order_no LIMIT 50`
	rows, err := tx.Query(ctx, query, pgx.NamedArgs{"order": orderNo})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[order])
}

func readCounts(ctx context.Context, tx pgx.Tx) (map[string]int64, error) {
	rows, err := tx.Query(ctx, `SELECT status, count(*) FROM t_order GROUP BY status`)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	var status string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&status, &n}, func() error {
		counts[status] = n
		return nil
	})
	return counts, err
}

// readControls leaves out the faults of single orders, which the orders show.
func readControls(ctx context.Context, tx pgx.Tx) (map[string]string, error) {
	rows, err := tx.Query(ctx, `SELECT name, value FROM t_control WHERE name NOT LIKE 'order:%'`)
	if err != nil {
		return nil, err
	}
	controls := map[string]string{controlBank: bankUp, controlNotice: noticeOK, controlCrash: off, controlStream: on, controlFaults: on}
	var name, value string
	_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error {
		controls[name] = value
		return nil
	})
	return controls, err
}

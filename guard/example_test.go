package guard_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/guard"
)

// A consumer of payments with all three guards: the key in Redis, the state of
// the order, and (inside deduct) a unique index on the flow's row.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	client := redis.NewClient(&redis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true})
	keys, err := guard.NewKeys(client, guard.KeyOptions{
		Pattern: "mq:consumed:pay_success:{business_key}",
		Style:   guard.Status,
		TTL:     24 * time.Hour, // longer than the whole ladder
	})
	if err != nil {
		panic(err)
	}

	var db *sql.DB // the business database
	consumer, err := guard.New(guard.Options{
		URL:         "amqp://guest:guest@localhost:5672/",
		Queue:       "q.pay.success",
		Name:        "pay-success",
		BusinessKey: guard.BodyField("orderNo"),
		Keys:        keys,
		Redis:       client,
		Guards:      []string{"order state", "account flow"},
		Handle: func(ctx context.Context, _ amqp.Delivery, orderNo string) error {
			return pay(ctx, db, orderNo)
		},
		Ladder: guard.Ladder{
			Tiers: []guard.Address{
				{Exchange: "ex.pay.dlx", RoutingKey: "wait30s"},
				{Exchange: "ex.pay.dlx", RoutingKey: "wait1m"},
				{Exchange: "ex.pay.dlx", RoutingKey: "wait5m"},
			},
			Terminal: guard.Address{Exchange: "ex.pay.dlx", RoutingKey: "terminal"},
		},
	})
	if err != nil {
		panic(err)
	}
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
}

// pay is guard 2 and what follows it, in one transaction.
func pay(ctx context.Context, db *sql.DB, orderNo string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err // retryable, as any error
	}
	defer func() { _ = tx.Rollback() }()
	result, err := tx.ExecContext(ctx, `UPDATE t_order SET status = 'PAID' WHERE order_no = $1 AND status = 'INIT'`, orderNo)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, whyNotPayable(ctx, tx, orderNo))
	}
	if err := deduct(ctx, tx, orderNo); err != nil {
		return err
	}
	return tx.Commit()
}

func whyNotPayable(ctx context.Context, tx *sql.Tx, orderNo string) error {
	var status string
	if err := tx.QueryRowContext(ctx, `SELECT status FROM t_order WHERE order_no = $1`, orderNo).Scan(&status); err != nil {
		return err
	}
	if status == "PAID" || status == "SETTLED" {
		return guard.Duplicate("order state")
	}
	return guard.Refused("order state", guard.Typed("ILLEGAL_ORDER_STATUS", errors.New("the order is "+status)))
}

// deduct stands for the row in t_account_flow and the change of the balance.
func deduct(context.Context, *sql.Tx, string) error { return nil }

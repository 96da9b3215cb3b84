package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/guard"
)

// bank stands for the bank's interface: slow or down when told so, and
// idempotent by a key of the caller's.
type bank struct {
	pool     *pgxpool.Pool
	controls controls
	latency  time.Duration // of a slow bank
}

// charge moves the money once for each key. The key is the order number, so
// that a run after a crash does not move it again.
func (b bank) charge(ctx context.Context, orderNo string, amount Cents) error {
	state, err := b.controls.value(ctx, controlBank)
	if err != nil {
		return err
	}
	fault, err := b.controls.value(ctx, orderControl(orderNo))
	if err != nil {
		return err
	}
	if state == bankDown || fault == faultBankTimeout {
		return guard.Typed("BANK_TIMEOUT", errors.New("the bank did not answer in time"))
	}
	if state == bankSlow && !wait(ctx, b.latency) {
		return guard.Typed("BANK_TIMEOUT", ctx.Err())
	}
	const query = `
		INSERT INTO t_bank_charge (idempotency_key, amount) VALUES (@key, @amount::numeric)
		ON CONFLICT (idempotency_key) DO UPDATE SET calls = t_bank_charge.calls + 1`
	_, err = b.pool.Exec(ctx, query, pgx.NamedArgs{"key": orderNo, "amount": amount.String()})
	return err
}

// wait reports whether it waited to the end.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Controls and their values. What is not set is as if all were well.
const (
	controlBank   = "bank"   // up, down or slow
	controlNotice = "notice" // ok or fail
	controlCrash  = "crash"  // one of the two crashes, of whoever comes next
	controlStream = "stream" // off: the producer of the demo waits
	controlFaults = "faults" // off: it makes no more orders with a fault

	bankUp, bankDown, bankSlow = "up", "down", "slow"
	noticeOK, noticeFails      = "ok", "fail"
	on, off                    = "on", "off"
)

// Faults that one order can be given.
const (
	faultBankTimeout      = "bank_timeout"
	faultNotice           = "notice"             // the notice fails once
	faultCrashAfterKey    = "crash_after_key"    // the consumer is killed with the key taken and nothing done
	faultCrashAfterCommit = "crash_after_commit" // … with all done and nothing acked
)

var faults = []string{faultBankTimeout, faultNotice, faultCrashAfterKey, faultCrashAfterCommit}

// values lists what may be set by hand; order:<order_no> takes a fault.
var values = map[string][]string{
	controlBank:   {bankUp, bankDown, bankSlow},
	controlNotice: {noticeOK, noticeFails},
	controlCrash:  {faultCrashAfterKey, faultCrashAfterCommit, off},
	controlStream: {on, off},
	controlFaults: {on, off},
}

// controls reads and sets the faults of the system.
type controls struct{ pool *pgxpool.Pool }

func orderControl(orderNo string) string { return "order:" + orderNo }

// value returns what name is set to, "" where it is not set.
func (c controls) value(ctx context.Context, name string) (string, error) {
	var value string
	err := c.pool.QueryRow(ctx, `SELECT value FROM t_control WHERE name = $1`, name).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return value, err
}

func (c controls) set(ctx context.Context, name, value string) error {
	if err := checkControl(name, value); err != nil {
		return err
	}
	const query = `
		INSERT INTO t_control (name, value) VALUES (@name, @value)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`
	_, err := c.pool.Exec(ctx, query, pgx.NamedArgs{"name": name, "value": value})
	return err
}

func checkControl(name, value string) error {
	allowed := values[name]
	if _, order := strings.CutPrefix(name, "order:"); order {
		allowed = faults
	}
	if slices.Contains(allowed, value) {
		return nil
	}
	if allowed == nil {
		return fmt.Errorf("there is no control %q", name)
	}
	return fmt.Errorf("control %s takes one of %s", name, strings.Join(allowed, ", "))
}

// once reports that this fault was set for the order, or for whoever comes
// next, and takes it back: it happens one time.
func (c controls) once(ctx context.Context, orderNo, fault string) (bool, error) {
	const query = `DELETE FROM t_control WHERE name IN (@order, 'crash') AND value = @fault`
	tag, err := c.pool.Exec(ctx, query, pgx.NamedArgs{"order": orderControl(orderNo), "fault": fault})
	return tag.RowsAffected() > 0, err
}

// restoreBank ends all the bank's faults.
func (c controls) restoreBank(ctx context.Context) error {
	const query = `DELETE FROM t_control WHERE name = 'bank' OR value = 'bank_timeout'`
	_, err := c.pool.Exec(ctx, query)
	return err
}

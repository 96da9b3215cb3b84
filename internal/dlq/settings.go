package dlq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
)

// settings are what is kept of a source beside its configuration.
type settings struct {
	paused      bool
	pausedBy    string
	pausedAt    time.Time
	confirmed   []string // the IDs of hazards
	confirmedBy string
	confirmedAt time.Time
	lastDrained time.Time
}

// querier is a connection, a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// readSettings returns the zero settings for a source that has none yet.
func readSettings(ctx context.Context, db querier, source string) (settings, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	const sql = `
		SELECT paused, coalesce(paused_by, ''), paused_at, confirmed_hazards, coalesce(confirmed_by, ''), confirmed_at, last_drained_at
		FROM source_settings WHERE source = $1`
	var s settings
	var paused, confirmed, drained *time.Time
	err := db.QueryRow(ctx, sql, source).Scan(&s.paused, &s.pausedBy, &paused, &s.confirmed, &s.confirmedBy, &confirmed, &drained)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return settings{}, fmt.Errorf("dlq: read settings of %s: %w", source, err)
	}
	s.pausedAt, s.confirmedAt, s.lastDrained = timeOr(paused), timeOr(confirmed), timeOr(drained)
	return s, nil
}

// writePaused keeps whether a source is paused, with its audit entry.
func writePaused(ctx context.Context, pool *pgxpool.Pool, source string, paused bool, a Act) error {
	const sql = `
		INSERT INTO source_settings (source, paused, paused_by, paused_at)
		VALUES (@source, @paused::boolean, CASE WHEN @paused THEN @actor::text END, CASE WHEN @paused THEN @at::timestamptz END)
		ON CONFLICT (source) DO UPDATE
		SET paused = excluded.paused, paused_by = excluded.paused_by, paused_at = excluded.paused_at`
	act := audit.ActResume
	if paused {
		act = audit.ActPause
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"source": source, "paused": paused, "actor": a.Actor, "at": a.At}
		if _, err := tx.Exec(ctx, sql, args); err != nil {
			return err
		}
		return audit.Write(ctx, tx, audit.Entry{
			At: a.At, Actor: a.Actor, From: a.From, Act: act, Object: "source " + source,
			Reason: displayable(a.Reason), Result: audit.ResultDone,
		})
	})
}

// writeConfirmed keeps which hazards somebody has seen and confirmed, in place
// of an earlier confirmation, with its audit entry.
func writeConfirmed(ctx context.Context, pool *pgxpool.Pool, source string, hazards []string, a Act) error {
	const sql = `
		INSERT INTO source_settings (source, confirmed_hazards, confirmed_by, confirmed_at)
		VALUES (@source, @hazards::text[], @actor::text, @at::timestamptz)
		ON CONFLICT (source) DO UPDATE
		SET confirmed_hazards = excluded.confirmed_hazards, confirmed_by = excluded.confirmed_by, confirmed_at = excluded.confirmed_at`
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"source": source, "hazards": hazards, "actor": a.Actor, "at": a.At}
		if _, err := tx.Exec(ctx, sql, args); err != nil {
			return err
		}
		return audit.Write(ctx, tx, audit.Entry{
			At: a.At, Actor: a.Actor, From: a.From, Act: audit.ActConfirm, Object: "source " + source,
			Reason: displayable(a.Reason + " [" + strings.Join(hazards, ", ") + "]"), Result: audit.ResultDone,
		})
	})
}

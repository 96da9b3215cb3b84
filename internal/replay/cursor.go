package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// cursorName is the row of cursors that says how far the reports were read.
const cursorName = keys.OutcomeStream

func saveCursor(ctx context.Context, tx pgx.Tx, position string) error {
	if position == "" {
		return nil
	}
	const sql = `
		INSERT INTO cursors (name, position) VALUES (@name, @position)
		ON CONFLICT ON CONSTRAINT cursors_pkey DO UPDATE SET position = EXCLUDED.position`
	_, err := tx.Exec(ctx, sql, pgx.NamedArgs{"name": cursorName, "position": position})
	return err
}

// advance saves a position that no report stands at.
func (s *Service) advance(ctx context.Context, position string) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return saveCursor(ctx, tx, position) })
	if err != nil {
		return fmt.Errorf("replay: save cursor: %w", err)
	}
	return nil
}

func (s *Service) cursor(ctx context.Context) (string, error) {
	var position string
	const sql = `SELECT position FROM cursors WHERE name = @name`
	err := s.pool.QueryRow(ctx, sql, pgx.NamedArgs{"name": cursorName}).Scan(&position)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("replay: read cursor: %w", err)
	}
	return position, nil
}

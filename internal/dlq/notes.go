package dlq

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
)

// maxNotes bounds how many notes of a message are read.
const maxNotes = 500

// AddNote writes a note about a message and its audit entry in one
// transaction, or returns ErrNotFound. The note's text must not be empty; it
// stands in the note only, not in the audit.
func (s *Store) AddNote(ctx context.Context, id, text string, a Act) error {
	key, err := uuid.Parse(id)
	if err != nil {
		return fmt.Errorf("dlq: note on %q: %w", cut(id, 64), ErrNotFound)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		const sql = `
			INSERT INTO notes (message_id, at, actor, text)
			SELECT id, @at::timestamptz, @actor, @text FROM dead_letters WHERE id = @id`
		done, err := tx.Exec(ctx, sql, pgx.NamedArgs{
			"id": key, "at": a.At, "actor": a.Actor, "text": displayable(text),
		})
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return ErrNotFound
		}
		return audit.Write(ctx, tx, audit.Entry{
			At: a.At, Actor: a.Actor, From: a.From, Act: audit.ActNote,
			Object: "message " + key.String(), Reason: displayable(a.Reason), Result: audit.ResultDone,
		})
	})
	if err != nil {
		return fmt.Errorf("dlq: note on %s: %w", key, err)
	}
	return nil
}

// Notes returns what was noted about a message, the oldest first.
func (s *Store) Notes(ctx context.Context, id string) ([]Note, error) {
	return s.NotesAfter(ctx, id, 0, maxNotes)
}

// NotesAfter returns at most limit notes about a message, the oldest first:
// those after the note with an id, 0 being before the first.
func (s *Store) NotesAfter(ctx context.Context, id string, after int64, limit int) ([]Note, error) {
	key, err := uuid.Parse(id)
	if err != nil {
		return nil, fmt.Errorf("dlq: read notes of %q: %w", cut(id, 64), ErrNotFound)
	}
	const sql = `SELECT id, at, actor, text FROM notes WHERE message_id = $1 AND id > $2 ORDER BY id LIMIT $3`
	rows, err := s.pool.Query(ctx, sql, key, after, limit)
	if err != nil {
		return nil, fmt.Errorf("dlq: read notes of %s: %w", key, err)
	}
	notes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Note, error) {
		var n Note
		err := row.Scan(&n.ID, &n.At, &n.Actor, &n.Text)
		n.At = n.At.UTC()
		return n, err
	})
	if err != nil {
		return nil, fmt.Errorf("dlq: read notes of %s: %w", key, err)
	}
	return notes, nil
}

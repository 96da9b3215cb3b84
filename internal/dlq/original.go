package dlq

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
)

// SetOriginal writes down where a message belongs on an operator's word, which
// is believed before all evidence, in the lives to come too, until another word
// replaces it. How the message had come there is not known unless o says so. It
// returns ErrNotFound, and ErrBadState while a replay is sending the message.
// What is done and its audit entry are one transaction.
func (s *Store) SetOriginal(ctx context.Context, id string, o Origin, a Act) error {
	key, err := uuid.Parse(id)
	if err != nil {
		return fmt.Errorf("dlq: set original queue of %q: %w", cut(id, 64), ErrNotFound)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		states, err := lockStates(ctx, tx, []string{id})
		if err != nil {
			return err
		}
		switch state, known := states[key]; {
		case !known:
			return ErrNotFound
		case state == Replaying:
			return fmt.Errorf("%w: %s", ErrBadState, state)
		}
		const sql = `
			UPDATE dead_letters
			SET original_queue = @queue, original_exchange = @exchange, original_routing_key = @routing_key,
				original_evidence = @evidence
			WHERE id = @id`
		args := pgx.NamedArgs{
			"queue": o.Queue, "exchange": o.Exchange, "routing_key": o.RoutingKey, "evidence": OriginOperator, "id": key,
		}
		if _, err := tx.Exec(ctx, sql, args); err != nil {
			return err
		}
		return audit.Write(ctx, tx, audit.Entry{
			At: a.At, Actor: a.Actor, From: a.From, Act: audit.ActOriginal, Object: "message " + key.String(),
			OperationID: uuid.NewString(), Reason: displayable(a.Reason), Result: o.words(),
		})
	})
	if err != nil {
		return fmt.Errorf("dlq: set original queue of %s: %w", key, err)
	}
	return nil
}

// words says o in a line.
func (o Origin) words() string {
	text := "queue " + o.Queue
	if o.Exchange != nil {
		text += ", exchange " + fmt.Sprintf("%q", *o.Exchange)
	}
	if o.RoutingKey != nil {
		text += ", routing key " + fmt.Sprintf("%q", *o.RoutingKey)
	}
	return text
}

package replay

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// attempt is the changeable part of a row of attempts.
type attempt struct {
	replayID    int64
	messageID   uuid.UUID
	round       int
	state       AttemptState
	outcome     Outcome       // "" unless sent
	source      OutcomeSource // "" while awaited
	detail      string
	verdict     Verdict
	prepared    bool // it reached the step before the publish
	before      []byte
	released    []byte
	sentAt      *time.Time
	settleAfter *time.Time
	settledAt   *time.Time
	newest      bool // no later attempt of the message that was sent, or may be
}

const attemptColumns = `
	a.replay_id, a.message_id, a.round, a.state, coalesce(a.outcome, ''), coalesce(a.outcome_source, ''),
	coalesce(a.detail, ''), a.verdict, a.route IS NOT NULL, a.evidence_before, a.released,
	a.sent_at, a.settle_after, a.settled_at,
	NOT EXISTS (SELECT 1 FROM attempts later WHERE later.message_id = a.message_id AND later.replay_id > a.replay_id
		AND later.state IN ('waiting', 'sent', 'unknown'))`

func scanAttempt(row pgx.CollectableRow) (attempt, error) {
	var a attempt
	err := row.Scan(&a.replayID, &a.messageID, &a.round, &a.state, &a.outcome, &a.source, &a.detail, &a.verdict,
		&a.prepared, &a.before, &a.released, &a.sentAt, &a.settleAfter, &a.settledAt, &a.newest)
	return a, err
}

// lockAttempt returns the attempt for the rest of tx, or dlq.ErrNotFound. The
// message is locked already.
func lockAttempt(ctx context.Context, tx pgx.Tx, replayID int64, messageID uuid.UUID) (attempt, error) {
	const sql = `SELECT ` + attemptColumns + ` FROM attempts a
		WHERE a.replay_id = @replay AND a.message_id = @id
		FOR UPDATE OF a`
	rows, err := tx.Query(ctx, sql, pgx.NamedArgs{"replay": replayID, "id": messageID})
	if err != nil {
		return attempt{}, err
	}
	a, err := pgx.CollectExactlyOneRow(rows, scanAttempt)
	if errors.Is(err, pgx.ErrNoRows) {
		return attempt{}, dlq.ErrNotFound
	}
	return a, err
}

func (a attempt) save(ctx context.Context, tx pgx.Tx) error {
	const sql = `
		UPDATE attempts
		SET state = @state, outcome = nullif(@outcome, ''), outcome_source = nullif(@source, ''),
			detail = nullif(@detail, ''), released = @released,
			sent_at = @sent_at, settle_after = @settle_after, settled_at = @settled_at
		WHERE replay_id = @replay AND message_id = @id`
	_, err := tx.Exec(ctx, sql, pgx.NamedArgs{
		"replay": a.replayID, "id": a.messageID, "state": string(a.state), "outcome": string(a.outcome),
		"source": string(a.source), "detail": a.detail, "released": a.released,
		"sent_at": a.sentAt, "settle_after": a.settleAfter, "settled_at": a.settledAt,
	})
	return err
}

// moveMessage gives the message its next state and ends the claim on it.
func moveMessage(ctx context.Context, tx pgx.Tx, id uuid.UUID, next dlq.State, now time.Time) error {
	const sql = `
		UPDATE dead_letters
		SET state = @state, state_changed_at = CASE WHEN state = @state THEN state_changed_at ELSE @now END,
			claimed_by = NULL, claimed_until = NULL
		WHERE id = @id`
	_, err := tx.Exec(ctx, sql, pgx.NamedArgs{"id": id, "state": string(next), "now": now})
	return err
}

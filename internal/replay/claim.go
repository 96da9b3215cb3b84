package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// claim is the right to send one message once: its attempt is waiting, and
// nobody else gets the message until the lease runs out.
type claim struct {
	id       uuid.UUID // of the message
	replayID int64
	round    int       // the life being sent
	was      dlq.State // before the claim
	request  Request
	source   string
}

func (c claim) operation() string { return operationOf(c.replayID) }

// operationOf ties the audit entries of one replay together.
func operationOf(replayID int64) string { return "replay " + strconv.FormatInt(replayID, 10) }

// lockedMessage is the row of dead_letters that a transaction holds. Every
// transaction that touches an attempt locks its message first, so that none
// waits for another in a circle.
type lockedMessage struct {
	state      dlq.State
	since      time.Time
	round      int
	quarantine bool
	claimedBy  string
	source     string
	key        string
}

func lockMessage(ctx context.Context, tx pgx.Tx, id uuid.UUID) (lockedMessage, error) {
	const sql = `
		SELECT state, state_changed_at, round, quarantine IS NOT NULL, coalesce(claimed_by, ''), source,
			coalesce(business_key, '')
		FROM dead_letters WHERE id = @id
		FOR UPDATE`
	var m lockedMessage
	err := tx.QueryRow(ctx, sql, pgx.NamedArgs{"id": id}).
		Scan(&m.state, &m.since, &m.round, &m.quarantine, &m.claimedBy, &m.source, &m.key)
	if errors.Is(err, pgx.ErrNoRows) {
		return m, dlq.ErrNotFound
	}
	return m, err
}

// claim takes the message for request, or says who has it. One transaction:
// the message's state with a lease, the replay, its attempt, and the audit's
// "intended".
func (s *Service) claim(ctx context.Context, r Request, sub subject) (claim, error) {
	id, err := uuid.Parse(r.MessageID)
	if err != nil {
		return claim{}, dlq.ErrNotFound
	}
	c := claim{id: id, request: r}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		m, err := lockMessage(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := m.claimable(r); err != nil {
			return err
		}
		c.was, c.round, c.source = m.state, m.round, m.source
		if c.replayID, err = s.insertClaim(ctx, tx, c, m, sub.decision.Verdict); err != nil {
			return err
		}
		return audit.Write(ctx, tx, audit.Entry{
			At: r.At, Actor: r.Actor, From: r.From, Act: audit.ActReplay, Object: "message " + id.String(),
			OperationID: c.operation(), Reason: r.Reason, Result: audit.ResultIntended,
		})
	})
	if err != nil {
		return claim{}, fmt.Errorf("replay: claim message %s: %w", id, err)
	}
	return c, nil
}

// claimable says whether r may have m; the error says why not.
func (m lockedMessage) claimable(r Request) error {
	switch {
	case m.quarantine:
		return fmt.Errorf("%w: quarantined", dlq.ErrBadState)
	case m.state == dlq.Open:
		return nil
	case m.state == dlq.Resolved && len(r.Override) > 0:
		return nil
	case m.state == dlq.Replaying && m.claimedBy != "":
		return &ClaimLostError{MessageID: r.MessageID, By: m.claimedBy, Since: m.since.UTC()}
	case m.state == dlq.Replaying:
		return fmt.Errorf("%w: its last attempt is unknown and has to be settled first", dlq.ErrBadState)
	}
	return fmt.Errorf("%w: %s", dlq.ErrBadState, m.state)
}

func (s *Service) insertClaim(ctx context.Context, tx pgx.Tx, c claim, m lockedMessage, v Verdict) (replayID int64, err error) {
	const insertReplay = `
		INSERT INTO replays (state, actor, reason, created_at, total)
		VALUES ('running', @actor, @reason, @at, 1)
		RETURNING id`
	const insertAttempt = `
		INSERT INTO attempts (replay_id, message_id, round, state, verdict, override, business_key, claimed_at)
		VALUES (@replay, @id, @round, 'waiting', @verdict, @override, nullif(@key, ''), @at)`
	const take = `
		UPDATE dead_letters
		SET state = 'replaying', state_changed_at = @at, claimed_by = @by, claimed_until = @until
		WHERE id = @id`
	override := make([]string, 0, len(c.request.Override))
	for _, o := range c.request.Override {
		override = append(override, string(o))
	}
	args := pgx.NamedArgs{
		"id": c.id, "actor": c.request.Actor, "reason": c.request.Reason, "at": c.request.At, "round": m.round,
		"verdict": string(v), "override": override, "key": m.key,
		"by": s.holder(c.request.Actor), "until": s.now().Add(s.lease),
	}
	if err := tx.QueryRow(ctx, insertReplay, args).Scan(&replayID); err != nil {
		return 0, err
	}
	args["replay"] = replayID
	if _, err := tx.Exec(ctx, insertAttempt, args); err != nil {
		return 0, orWaiting(err, c, m)
	}
	_, err = tx.Exec(ctx, take, args)
	return replayID, err
}

// orWaiting turns the violation of attempts_one_waiting_idx into ErrClaimLost:
// the message came back dead from an older replay while a newer one still is
// sending it.
func orWaiting(err error, c claim, m lockedMessage) error {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.ConstraintName == "attempts_one_waiting_idx" {
		return &ClaimLostError{MessageID: c.id.String(), By: "another replay", Since: m.since.UTC()}
	}
	return err
}

// holder names who holds a claim: the operator, and the console where there
// are several.
func (s *Service) holder(actor string) string {
	if s.owner == "" {
		return actor
	}
	return actor + " (" + s.owner + ")"
}

package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// leaseBatch bounds how many claims one pass ends.
const leaseBatch = 100

// leaseEnded is the condition that a waiting attempt a of a message m was left
// by its console. A message that came back dead meanwhile has no claim any
// more: then the attempt's own age counts, and a replay never lasts for two
// leases.
const leaseEnded = `coalesce(m.claimed_until, a.claimed_at + 2 * @lease::interval) < @now::timestamptz`

// endLeases ends the claims whose lease has run out: their console died, or
// lost the database. An attempt that had reached the step before the publish
// becomes unknown and keeps its message; one that had not was surely never
// sent, and its message is open again. Nothing is published here.
func (s *Service) endLeases(ctx context.Context, now time.Time) (int, error) {
	const sql = `
		SELECT m.id FROM attempts a JOIN dead_letters m ON m.id = a.message_id
		WHERE a.state = 'waiting' AND ` + leaseEnded + `
		ORDER BY a.claimed_at
		LIMIT @limit`
	rows, err := s.pool.Query(ctx, sql, pgx.NamedArgs{"now": now, "lease": s.lease, "limit": leaseBatch})
	if err != nil {
		return 0, fmt.Errorf("replay: find dead claims: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return 0, fmt.Errorf("replay: find dead claims: %w", err)
	}
	ended := 0
	for _, id := range ids {
		done, err := s.endLease(ctx, id, now)
		if err != nil {
			return ended, fmt.Errorf("replay: end claim on message %s: %w", id, err)
		}
		ended += done
	}
	return ended, nil
}

func (s *Service) endLease(ctx context.Context, id uuid.UUID, now time.Time) (int, error) {
	var source string
	var state AttemptState
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		m, err := lockMessage(ctx, tx, id)
		if err != nil {
			return err
		}
		a, found, err := s.lockDeadClaim(ctx, tx, id, now)
		if err != nil || !found {
			return err
		}
		end, lost, err := a.leaseEnding()
		if err != nil {
			return err
		}
		c := claim{id: id, replayID: a.replayID, round: a.round, was: dlq.Open, source: m.source}
		if _, err := s.end(ctx, tx, c, m, a, end); err != nil {
			return err
		}
		source, state = m.source, end.state
		for _, key := range lost {
			err := audit.Write(ctx, tx, audit.Entry{
				At: now, Actor: operatorOfConsole, Act: audit.ActRelease, Object: objectOfKey(key),
				OperationID: c.operation(), Result: string(ReleaseUnknown),
			})
			if err != nil {
				return err
			}
		}
		return audit.Write(ctx, tx, audit.Entry{
			At: now, Actor: operatorOfConsole, Act: audit.ActReplay, Object: "message " + id.String(),
			OperationID: c.operation(), Result: string(end.state),
		})
	})
	if err != nil || state == "" {
		return 0, err
	}
	s.metrics.countAttempt(source, state)
	return 1, nil
}

// leaseEnding says how an attempt ends whose console died, and which keys that
// console was just about to release: whether it did is unknown.
func (a attempt) leaseEnding() (end ending, lost []string, err error) {
	end = ending{state: Blocked, detail: DetailLeaseNothing}
	if len(a.released) > 0 {
		if err := json.Unmarshal(a.released, &end.released); err != nil {
			return end, nil, fmt.Errorf("read released keys: %w", err)
		}
	}
	for i, k := range end.released {
		switch k.Result {
		case ReleaseIntended:
			end.released[i].Result = ReleaseUnknown
			end.detail, lost = DetailLeaseReleasing, append(lost, k.Key)
		case keys.Released:
			end.detail = DetailLeaseReleasing
		}
	}
	if a.prepared {
		end.state, end.detail = AttemptUnknown, DetailLeaseUnknown
	}
	return end, lost, nil
}

// lockDeadClaim returns the waiting attempt of a message whose claim still is
// one that ran out.
func (s *Service) lockDeadClaim(ctx context.Context, tx pgx.Tx, id uuid.UUID, now time.Time) (attempt, bool, error) {
	const sql = `SELECT ` + attemptColumns + `
		FROM attempts a JOIN dead_letters m ON m.id = a.message_id
		WHERE a.message_id = @id AND a.state = 'waiting' AND ` + leaseEnded + `
		FOR UPDATE OF a`
	rows, err := tx.Query(ctx, sql, pgx.NamedArgs{"id": id, "now": now, "lease": s.lease})
	if err != nil {
		return attempt{}, false, err
	}
	all, err := pgx.CollectRows(rows, scanAttempt)
	if err != nil || len(all) == 0 {
		return attempt{}, false, err
	}
	return all[0], true, nil
}

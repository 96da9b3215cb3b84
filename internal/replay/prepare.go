package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// prepare is the last step before the publish: it notes what is going to be
// sent where and on which evidence, keeps the bytes where they are not those
// that died, and renews the lease. It returns
// ErrClaimLost where the lease has run out meanwhile: then nothing may be sent.
func (s *Service) prepare(ctx context.Context, c claim, d Destination, verdict Verdict, l parcel, evidence, released []byte) error {
	const note = `
		UPDATE attempts
		SET verdict = @verdict, route = @route, to_exchange = @exchange, to_routing_key = @routing_key,
			to_queue = nullif(@queue, ''), evidence_before = @evidence, released = @released
		WHERE replay_id = @replay AND message_id = @id AND state = 'waiting'`
	const renew = `UPDATE dead_letters SET claimed_until = @until WHERE id = @id AND state = 'replaying'`
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		m, err := lockMessage(ctx, tx, c.id)
		if err != nil {
			return err
		}
		args := pgx.NamedArgs{
			"id": c.id, "replay": c.replayID, "verdict": string(verdict), "route": string(d.Route),
			"exchange": d.Exchange, "routing_key": d.RoutingKey, "queue": d.Queue,
			"evidence": evidence, "released": released, "until": s.now().Add(s.lease),
		}
		noted, err := tx.Exec(ctx, note, args)
		if err != nil {
			return err
		}
		if noted.RowsAffected() == 0 {
			return &ClaimLostError{MessageID: c.id.String(), By: orElse(m.claimedBy, "nobody"), Since: m.since.UTC()}
		}
		if err := s.keepSent(ctx, tx, c, l); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, renew, args)
		return err
	})
	if err != nil {
		return fmt.Errorf("replay: prepare message %s: %w", c.id, err)
	}
	return nil
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// evidenceJSON is what each guard said just before the publish: keys that were
// released for it are gone by then.
func evidenceJSON(e Evidence, released []ReleasedKey) []byte {
	gone := map[string]bool{}
	for _, k := range released {
		gone[k.Key] = true
	}
	e = e.without(gone)
	return mustJSON(snapshot{Guards: answers(e), Unacked: e.Unacked, At: e.At.UTC()})
}

// snapshot is the shape of evidence in the database.
type snapshot struct {
	Guards  []GuardAnswer `json:"guards"`
	Unacked *int64        `json:"unacked"`
	At      time.Time     `json:"at"`
}

func releasedJSON(released []ReleasedKey) []byte {
	if len(released) == 0 {
		return nil
	}
	return mustJSON(released)
}

// mustJSON marshals values of this package's own types, which always can be.
func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("replay: marshal: " + err.Error())
	}
	return text
}

package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// release is one release with all that its audit needs.
type release struct {
	key, seen string
	reading   KeyReading         // of the moment before
	refused   keys.ReleaseResult // why the key must stay; "": it may go
	operation string
	act       dlq.Act
	// note keeps what the audit says at the replay's attempt too, in the same
	// transaction; nil without a replay.
	note func(ctx context.Context, tx pgx.Tx, result keys.ReleaseResult, before keys.State) error
}

// freeKey releases one key: audit "intended", then compare-and-delete in one
// script, then the result in the audit. Where the evidence says that the key must
// stay, Redis is not asked. With an error the result is ReleaseUnknown or
// ReleaseNotDone; "" where not even the intent was written.
func (s *Service) freeKey(ctx context.Context, r release) (keys.ReleaseResult, keys.Key, error) {
	if err := s.noteRelease(ctx, r, r.act.At, ReleaseIntended, r.reading.Key.State); err != nil {
		return "", keys.Key{}, err
	}
	result, before := r.refused, r.reading.Key
	var err error
	if r.refused == "" {
		if result, before, err = s.keys.Release(ctx, r.key, r.seen); err != nil {
			result, before = notReleased(err), r.reading.Key
		}
	}
	auditErr := s.noteRelease(ctx, r, s.now(), result, before.State)
	switch {
	case auditErr == nil:
	case err != nil:
		s.log.ErrorContext(ctx, "replay: a release could not be audited", "key", r.key, "err", auditErr)
	case result == keys.Released:
		err = errors.Join(keys.ErrReleaseUnknown, auditErr) // "nothing was done" would be wrong
	default:
		err = auditErr
	}
	if err == nil {
		s.metrics.countRelease(r.reading.Space.Name, result)
	}
	return result, before, err
}

// notReleased is what a release that ended with err did.
func notReleased(err error) keys.ReleaseResult {
	if errors.Is(err, keys.ErrReleaseUnknown) {
		return ReleaseUnknown
	}
	return ReleaseNotDone
}

// noteRelease writes the intent or the result of a release to the audit, and to
// the attempt where there is one.
func (s *Service) noteRelease(ctx context.Context, r release, at time.Time, result keys.ReleaseResult, before keys.State) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if r.note != nil {
			if err := r.note(ctx, tx, result, before); err != nil {
				return err
			}
		}
		return audit.Write(ctx, tx, audit.Entry{
			At: at, Actor: r.act.Actor, From: r.act.From, Act: audit.ActRelease, Object: objectOfKey(r.key),
			OperationID: r.operation, Reason: r.act.Reason, Result: string(result),
		})
	})
}

func objectOfKey(key string) string { return "key " + clean(key) }

// protects reports that the business database says that a key must stay: the
// work was done, or the database contradicts itself. An effect that is there
// protects whatever the state says: a refunded order was charged once.
func (e Evidence) protects() bool {
	return e.Effect.Probed && e.Effect.There || e.State.Class == StateDone
}

// releaseKeys releases the keys that were asked for, one after the other. A
// key that is gone by now is as good as released; the first that is neither
// ends it with a KeyChangedError. It returns what was done in any case.
func (s *Service) releaseKeys(ctx context.Context, c claim, sub subject) ([]ReleasedKey, error) {
	var released []ReleasedKey
	for _, k := range c.request.ReleaseKeys {
		reading := sub.reading(k.Key)
		earlier := released
		entry := ReleasedKey{Key: k.Key, Space: reading.Space.Name}
		result, before, err := s.freeKey(ctx, release{
			key: k.Key, seen: k.Seen, reading: reading, refused: sub.evidence.refusal(reading, k.Seen), operation: c.operation(),
			act: dlq.Act{Actor: c.request.Actor, From: c.request.From, Reason: c.request.Reason, At: c.request.At},
			note: func(ctx context.Context, tx pgx.Tx, result keys.ReleaseResult, before keys.State) error {
				entry.Result, entry.Before = result, before
				return c.noteReleased(ctx, tx, append(slices.Clone(earlier), entry))
			},
		})
		if result != "" {
			entry.Result, entry.Before = result, before.State
			released = append(released, entry)
		}
		if err != nil && freed(earlier) {
			err = errors.Join(keys.ErrReleaseUnknown, err) // "no key was touched" would be wrong
		}
		if err != nil {
			return released, fmt.Errorf("replay: release keys of message %s: %w", c.id, err)
		}
		if result != keys.Released && result != keys.Gone {
			return released, &KeyChangedError{Key: k.Key, Result: result, Before: before}
		}
	}
	return released, nil
}

// noteReleased saves what is known of the keys released for c. An intent needs
// the claim: who has lost it gets ErrClaimLost and releases nothing. A result is
// saved whatever became of the claim.
func (c claim) noteReleased(ctx context.Context, tx pgx.Tx, released []ReleasedKey) error {
	m, err := lockMessage(ctx, tx, c.id)
	if err != nil {
		return err
	}
	const sql = `
		UPDATE attempts SET released = @released
		WHERE replay_id = @replay AND message_id = @id AND (state = 'waiting' OR NOT @intent::boolean)`
	tag, err := tx.Exec(ctx, sql, pgx.NamedArgs{
		"released": releasedJSON(released), "replay": c.replayID, "id": c.id,
		"intent": released[len(released)-1].Result == ReleaseIntended,
	})
	if err == nil && tag.RowsAffected() == 0 {
		return &ClaimLostError{MessageID: c.id.String(), By: orElse(m.claimedBy, "nobody"), Since: m.since.UTC()}
	}
	return err
}

// freed reports that one of the keys was released.
func freed(released []ReleasedKey) bool {
	return slices.ContainsFunc(released, func(k ReleasedKey) bool { return k.Result == keys.Released })
}

func (sub subject) reading(key string) KeyReading {
	for _, r := range sub.evidence.Keys {
		if r.Key.Name == key {
			return r
		}
	}
	return KeyReading{}
}

// refusal says with which result a release of the key r, seen as the token
// says, is refused before Redis is asked; "" where it may go. A failed key may:
// nobody runs under it.
func (e Evidence) refusal(r KeyReading, seen string) keys.ReleaseResult {
	switch {
	case e.protects():
		return keys.Protected
	case lets(r, e), r.Key.State == keys.Failed:
		return ""
	}
	return r.Key.Refusal(seen)
}

// ReleaseKey frees one key without a replay, if it still is what the token seen
// was handed out for, and says what became of it, with the key as it was just
// before: audit "intended", release, audit the result. Where the business
// database says that the work was done, or contradicts itself, the result is
// Protected and the key is left alone; what InspectKey calls not releasable is
// refused likewise, before the script. It returns keys.ErrNoSpace,
// keys.ErrBadSeen, keys.ErrUnavailable, keys.ErrReleaseUnknown where the key may
// be gone, ErrNoEvidence where a probe did not answer, ErrNotReleasable where the key holds nothing back, and ErrNoReason
// where only a human can decide and gave no reason.
func (s *Service) ReleaseKey(ctx context.Context, key, seen string, a dlq.Act) (keys.ReleaseResult, keys.Key, error) {
	if !keys.ValidSeen(seen) {
		return "", keys.Key{}, fmt.Errorf("replay: release key: %w", keys.ErrBadSeen)
	}
	reading, evidence, err := s.weigh(ctx, key)
	if err != nil {
		return "", keys.Key{}, err
	}
	switch {
	case evidence.State.Err != nil || evidence.Effect.Err != nil:
		return "", keys.Key{}, fmt.Errorf("replay: release %s: %w", key, ErrNoEvidence)
	case reading.Key.State == keys.Failed && !evidence.protects() && !lets(reading, evidence):
		return "", keys.Key{}, fmt.Errorf("replay: release %s: %w", key, ErrNotReleasable)
	case reading.Key.State == keys.Held && !evidence.probed() && a.Reason == "":
		return "", keys.Key{}, fmt.Errorf("replay: release %s: %w: only a human can tell whether it is stale", key, ErrNoReason)
	}
	return s.freeKey(context.WithoutCancel(ctx), release{
		key: key, seen: seen, reading: reading, refused: evidence.refusal(reading, seen), act: a,
		operation: "release " + seen[:min(len(seen), 16)] + "@" + a.At.UTC().Format(time.RFC3339Nano),
	})
}

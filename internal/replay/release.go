package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
}

// freeKey releases one key: audit "intended", then compare-and-delete in one
// script, then the result in the audit. Where the evidence says that the key must
// stay, Redis is not asked. With an error the result is ReleaseUnknown or
// ReleaseNotDone; "" where not even the intent was written.
func (s *Service) freeKey(ctx context.Context, r release) (keys.ReleaseResult, keys.Key, error) {
	if err := s.auditRelease(ctx, r, r.act.At, audit.ResultIntended); err != nil {
		return "", keys.Key{}, err
	}
	result, before := r.refused, r.reading.Key
	var err error
	if r.refused == "" {
		if result, before, err = s.keys.Release(ctx, r.key, r.seen); err != nil {
			result, before = notReleased(err), r.reading.Key
		}
	}
	auditErr := s.auditRelease(ctx, r, s.now(), string(result))
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

func (s *Service) auditRelease(ctx context.Context, r release, at time.Time, result string) error {
	return audit.Write(ctx, s.pool, audit.Entry{
		At: at, Actor: r.act.Actor, From: r.act.From, Act: audit.ActRelease, Object: "key " + clean(r.key),
		OperationID: r.operation, Reason: r.act.Reason, Result: result,
	})
}

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
		result, before, err := s.freeKey(ctx, release{
			key: k.Key, seen: k.Seen, reading: reading, refused: sub.evidence.refusal(reading, k.Seen), operation: c.operation(),
			act: dlq.Act{Actor: c.request.Actor, From: c.request.From, Reason: c.request.Reason, At: c.request.At},
		})
		if err != nil && freed(released) {
			err = errors.Join(keys.ErrReleaseUnknown, err) // "no key was touched" would be wrong
		}
		if result != "" {
			released = append(released, ReleasedKey{Key: k.Key, Space: reading.Space.Name, Result: result, Before: before.State})
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

package replay

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// Why a key cannot be released, beside the Why constants of its decision.
const (
	WhyNothingToRelease = "key_absent_or_done"
	WhyBusinessDone     = "business_done" // the business database says that the work was done, or contradicts itself
)

// Bounds of an inspection.
const (
	inspectedMessages = 20
	inspectedReleases = 20
)

// KeyInspection is one key with everything that says whether it is stale.
type KeyInspection struct {
	Key         keys.Key
	Space       keys.Space
	Stuck       bool // processing for longer than the limit
	Stale       bool // stuck, failed and blocking, or held while nothing happened
	BusinessKey string
	Evidence    Evidence
	Decision    Decision // of a message with this key alone
	Guards      []GuardAnswer
	Releasable  bool
	WhyNot      string        // why it is not, a word of a closed list; "" where it is
	Messages    []dlq.Message // with this business key, the newest first; at most 20
	Releases    []audit.Entry // of this key, the newest first; at most 20
}

// InspectKey says what stands at key and whether it is stale. It returns
// keys.ErrNoSpace and keys.ErrUnavailable; a probe that did not answer is part
// of the evidence.
func (s *Service) InspectKey(ctx context.Context, key string) (KeyInspection, error) {
	reading, evidence, err := s.weigh(ctx, key)
	if err != nil {
		return KeyInspection{}, err
	}
	i := KeyInspection{
		Key: reading.Key, Space: reading.Space, BusinessKey: evidence.BusinessKey,
		Evidence: evidence, Decision: Decide(evidence), Guards: answers(evidence),
		Stuck: reading.Key.Stuck(reading.Space), Releasable: len(releasable(evidence)) > 0,
	}
	i.Stale = i.Decision.Verdict == StaleKey
	if !i.Releasable {
		i.WhyNot = whyNot(i)
	}
	page, err := s.store.List(ctx, dlq.Filter{BusinessKey: i.BusinessKey, Limit: inspectedMessages})
	if err != nil {
		return KeyInspection{}, fmt.Errorf("replay: inspect key: %w", err)
	}
	for _, m := range page.Messages {
		if slices.Contains(s.plans[m.Source].Spaces, i.Space.Name) {
			i.Messages = append(i.Messages, m)
		}
	}
	log, err := audit.NewLog(s.pool).List(ctx, audit.Filter{Object: objectOfKey(key), Limit: inspectedReleases})
	if err != nil {
		return KeyInspection{}, fmt.Errorf("replay: inspect key: %w", err)
	}
	i.Releases = log.Entries
	return i, nil
}

func whyNot(i KeyInspection) string {
	switch {
	case i.Evidence.protects():
		return WhyBusinessDone
	case i.Key.State == keys.Absent, i.Key.State == keys.Succeeded:
		return WhyNothingToRelease
	}
	return i.Decision.Why
}

// weigh reads key and asks the probes of the first source that uses its space.
func (s *Service) weigh(ctx context.Context, key string) (KeyReading, Evidence, error) {
	if s.keys == nil {
		return KeyReading{}, Evidence{}, fmt.Errorf("replay: read key: %w: none is configured", keys.ErrUnavailable)
	}
	space, ok := s.keys.SpaceOf(key)
	if !ok {
		return KeyReading{}, Evidence{}, fmt.Errorf("replay: read key: %w", keys.ErrNoSpace)
	}
	read, err := s.keys.Read(ctx, key)
	if err != nil {
		return KeyReading{}, Evidence{}, err
	}
	r := KeyReading{Space: space, Key: read}
	e := Evidence{Keys: []KeyReading{r}, At: s.now()}
	e.BusinessKey, _ = space.BusinessKeyOf(key)
	if p, ok := s.planOf(space.Name); ok {
		e.State, e.Effect = s.probe(ctx, p.Guards, e.BusinessKey)
	}
	return r, e, nil
}

// planOf returns the first plan that uses the space, one with probes first.
func (s *Service) planOf(space string) (Plan, bool) {
	var found Plan
	for _, p := range s.order {
		if !slices.Contains(p.Spaces, space) {
			continue
		}
		if len(p.Guards) > 0 {
			return p, true
		}
		if found.Source.Name == "" {
			found = p
		}
	}
	return found, found.Source.Name != ""
}

// probed reports that the business database was asked.
func (e Evidence) probed() bool { return e.State.Class != StateNotProbed || e.Effect.Probed }

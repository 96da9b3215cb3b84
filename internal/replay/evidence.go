package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// gather asks everybody who knows something about a business key. It never
// fails: who did not answer is in the evidence with the error.
func (s *Service) gather(ctx context.Context, p Plan, businessKey string, unacked *int64, at time.Time) Evidence {
	e := Evidence{BusinessKey: businessKey, Unacked: unacked, At: at}
	if businessKey == "" {
		return e
	}
	e.Keys = s.readKeys(ctx, p.Spaces, businessKey)
	e.State, e.Effect = s.probe(ctx, p.Guards, businessKey)
	return e
}

// readKeys reads the keys that a business key has in the named spaces.
func (s *Service) readKeys(ctx context.Context, names []string, businessKey string) []KeyReading {
	var readings []KeyReading
	var asked []string
	for _, name := range names {
		r := KeyReading{Space: keys.Space{Name: name}}
		if s.keys == nil {
			r.Err = fmt.Errorf("replay: read keys: %w: none is configured", keys.ErrUnavailable)
		} else if space, ok := s.keys.Space(name); ok {
			r.Space = space
			asked = append(asked, space.KeyOf(businessKey))
			r.Key = keys.Key{Name: space.KeyOf(businessKey), Space: name}
		} else {
			r.Err = fmt.Errorf("replay: read keys: %w: %s", keys.ErrNoSpace, name)
		}
		readings = append(readings, r)
	}
	if len(asked) == 0 {
		return readings
	}
	read, err := s.keys.ReadMany(ctx, asked)
	for i := range readings {
		if readings[i].Err != nil {
			continue
		}
		if err != nil {
			readings[i].Err = err
			continue
		}
		n := slices.Index(asked, readings[i].Key.Name)
		readings[i].Key = read[n]
	}
	return readings
}

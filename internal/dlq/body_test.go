package dlq

import (
	"bytes"
	"errors"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

func TestABodyIsReadInParts(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	whole := bytes.Repeat([]byte{0, 1, 0xff, 'x', 7}, 20_000)
	id := put(t, pool, paySource, delivery(string(whole), arrival))[0]
	s := NewStore(pool)
	facts, err := s.BodyFacts(t.Context(), id, 0)
	if err != nil || facts.Round != 1 || facts.Size != int64(len(whole)) || len(facts.SHA256) != 32 {
		t.Fatalf("facts are %+v, %v", facts, err)
	}
	var got []byte
	for {
		part, err := s.BodyPart(t.Context(), id, 1, int64(len(got)), 30_001)
		if err != nil {
			t.Fatal(err)
		}
		if len(part) == 0 {
			break
		}
		got = append(got, part...)
	}
	if !bytes.Equal(got, whole) {
		t.Errorf("%d bytes came, not the %d of the body", len(got), len(whole))
	}
	for _, c := range []struct {
		id    string
		round int
	}{{id, 2}, {newID().String(), 1}, {"nothing", 1}} {
		if _, err := s.BodyFacts(t.Context(), c.id, c.round); !errors.Is(err, ErrNotFound) {
			t.Errorf("facts of %s, round %d: %v", c.id, c.round, err)
		}
		if _, err := s.BodyPart(t.Context(), c.id, c.round, 0, 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("part of %s, round %d: %v", c.id, c.round, err)
		}
	}
}

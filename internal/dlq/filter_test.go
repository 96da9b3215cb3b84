package dlq

import (
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

func TestTextThatNoColumnHoldsMatchesNothing(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := NewStore(pool)
	id := put(t, pool, paySource, delivery("\uFFFD", arrival))[0]
	m, err := store.Message(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\x00", "\xff"} {
		for name, f := range map[string]Filter{
			"source": {Source: bad}, "reason": {Reason: Reason(bad)}, "state": {States: []State{State(bad)}},
			"states": {States: []State{Open, State(bad)}}, "failure type": {FailureType: bad},
			"text": {Text: bad}, "business key": {BusinessKey: bad},
		} {
			page, err := store.List(t.Context(), f)
			if err != nil || len(page.Messages) != 0 || page.Total != (Count{Exact: true}) {
				t.Errorf("%s %q: page %+v (%v), want nothing", name, bad, page, err)
			}
			if _, err := store.Facets(t.Context(), f); err != nil {
				t.Errorf("%s %q: facets: %v", name, bad, err)
			}
			if newer, older, err := store.Neighbours(t.Context(), f, m); err != nil || newer != "" || older != "" {
				t.Errorf("%s %q: neighbours %q and %q (%v), want none", name, bad, newer, older, err)
			}
		}
	}
}

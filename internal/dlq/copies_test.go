package dlq

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

func mark(t *testing.T, pool *pgxpool.Pool, ids ...string) {
	t.Helper()
	exec(t, pool, "UPDATE dead_letters SET possible_copy = true WHERE id = ANY ($1)", ids)
}

// lookalikes returns the ids of a message's look-alikes.
func lookalikes(t *testing.T, pool *pgxpool.Pool, id string) ([]string, bool) {
	t.Helper()
	s := NewStore(pool)
	m, err := s.Message(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Lookalikes(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range found.Messages {
		all = append(all, m.ID)
	}
	return all, found.All
}

func TestACopyAndItsTwinFindEachOther(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"by the business key": `{"orderNo":"P1"}`, "without a business key": "text"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			all := put(t, pool, paySource,
				delivery(body, arrival), delivery(`{"orderNo":"P2"}`, arrival), delivery(body, arrival.Add(-time.Minute)), delivery(body, arrival.Add(time.Second)))
			elsewhere := paySource
			elsewhere.Name = "elsewhere"
			put(t, pool, elsewhere, delivery(body, arrival))
			mark(t, pool, all[0])

			got, complete := lookalikes(t, pool, all[0])
			if want := []string{all[3], all[2]}; fmt.Sprint(got) != fmt.Sprint(want) || !complete {
				t.Errorf("the copy's look-alikes are %v (all: %v), want %v: the nearest first, of its source, none of another body", got, complete, want)
			}
			for _, twin := range []string{all[2], all[3]} {
				if got, complete := lookalikes(t, pool, twin); fmt.Sprint(got) != fmt.Sprint(all[:1]) || !complete {
					t.Errorf("the twin's look-alikes are %v (all: %v), want the marked one alone", got, complete)
				}
			}
			if got, _ := lookalikes(t, pool, all[1]); len(got) != 0 {
				t.Errorf("another body has look-alikes: %v", got)
			}
		})
	}
}

// A queue that fills with the same body must not make the page read it all.
func TestLookalikesAreBoundedAndSayThatTheyAre(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var many []rabbit.Delivery
	for i := range 30 {
		many = append(many, delivery("same", arrival.Add(time.Duration(i)*time.Second)))
	}
	all := put(t, pool, paySource, many...)
	mark(t, pool, all[15])
	got, complete := lookalikes(t, pool, all[15])
	if len(got) != maxLookalikes || complete {
		t.Errorf("%d look-alikes (all: %v), want %d, not all", len(got), complete, maxLookalikes)
	}
	exec(t, pool, `INSERT INTO dead_letters (id, source, state, state_changed_at, first_drained_at, reason, died_at, drained_at, body_size, body_sha256)
		SELECT gen_random_uuid(), s, st, now(), now(), 'none', $2::timestamptz - n * interval '1 second', now(), 1, sha256('other')
		FROM generate_series(1, 2000) AS n, unnest(ARRAY[$1, 'another']) AS s, unnest(ARRAY['open', 'resolved']) AS st`,
		paySource.Name, arrival)
	exec(t, pool, "UPDATE dead_letters SET business_key = 'K' || floor(extract(epoch FROM died_at))::bigint % 40")
	exec(t, pool, "VACUUM ANALYZE dead_letters")
	m, err := NewStore(pool).Message(t.Context(), all[0])
	if err != nil {
		t.Fatal(err)
	}
	m.PossibleCopy = true
	for name, key := range map[string]string{"around its death": "", "of its business key": m.BusinessKey} {
		m.BusinessKey = key
		read := pgtest.RowsRead(t, pool, lookalikesSQL(m), pgx.NamedArgs{
			"id": m.ID, "source": m.Source, "key": m.BusinessKey, "sha": m.BodySHA256, "size": m.BodySize,
			"died": m.DiedAt, "nearby": 100, "limit": maxLookalikes + 1,
		})
		if read > 1000 {
			t.Errorf("%s: %d rows were read, want some hundreds of 8,030", name, read)
		}
	}
}

func TestTheMarkOfACopyIsTakenOffByAHumanWithAReason(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	all := put(t, pool, paySource, delivery("a", arrival), delivery("a", arrival))
	mark(t, pool, all[0])
	s := NewStore(pool)
	if err := s.NotACopy(t.Context(), all[0], act); err != nil {
		t.Fatal(err)
	}
	m, err := s.Message(t.Context(), all[0])
	if err != nil || m.PossibleCopy {
		t.Errorf("marked: %v (%v)", m.PossibleCopy, err)
	}
	if n := number(t, pool, "SELECT count(*) FROM audit WHERE act = 'not_a_copy' AND object = $1 AND reason = $2", "message "+all[0], act.Reason); n != 1 {
		t.Errorf("%d entries in the audit, want one", n)
	}
	if err := s.NotACopy(t.Context(), all[0], act); !errors.Is(err, ErrNotMarked) {
		t.Errorf("again: %v, want %v", err, ErrNotMarked)
	}
	for _, id := range []string{newID().String(), "nothing"} {
		if err := s.NotACopy(t.Context(), id, act); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v, want %v", id, err, ErrNotFound)
		}
	}
	if n := number(t, pool, "SELECT count(*) FROM audit"); n != 1 {
		t.Errorf("%d entries in the audit, want no more", n)
	}
}

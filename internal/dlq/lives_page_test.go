package dlq

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

// often stores a message that died the given number of times, each time from a
// replay of its own, and many others around it.
func often(t *testing.T, pool *pgxpool.Pool, lives int) string {
	t.Helper()
	deaths := make([]rabbit.Delivery, 200)
	for i := range deaths {
		deaths[i] = delivery(fmt.Sprint("other ", i), arrival)
	}
	many := put(t, pool, paySource, deaths...)
	id := many[len(many)/2]
	exec(t, pool, `UPDATE dead_letters SET round = $2 WHERE id = $1`, id, lives)
	exec(t, pool, `INSERT INTO lives SELECT (jsonb_populate_record(l, jsonb_build_object('round', n, 'replay_id', n - 1,
			'drained_at', l.drained_at + n * interval '1 minute', 'died_at', l.died_at + n * interval '1 minute'))).*
		FROM lives l, generate_series(2, $2) AS n WHERE l.message_id = $1`, id, lives)
	exec(t, pool, `INSERT INTO lives SELECT (jsonb_populate_record(l, jsonb_build_object('round', n))).*
		FROM lives l, generate_series(2, 20) AS n WHERE l.message_id <> $1`, id)
	exec(t, pool, `ANALYZE lives`)
	return id
}

func TestAMessageThatDiedTwoThousandTimesIsReadAPageAtATime(t *testing.T) {
	t.Parallel()
	const lives, page = 2000, 20
	pool := pgtest.New(t)
	id, s := often(t, pool, lives), NewStore(pool)

	seen := 0
	for before, want := 0, lives; ; {
		got, err := s.LivesBefore(t.Context(), id, before, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range got {
			if l.Round != want {
				t.Fatalf("round %d comes where %d should", l.Round, want)
			}
			want--
		}
		if seen += len(got); len(got) < page {
			break
		}
		before = got[len(got)-1].Round
	}
	if seen != lives {
		t.Errorf("%d lives came, want %d", seen, lives)
	}
	after, err := s.LivesAfter(t.Context(), id, 1990, page)
	if err != nil || len(after) != 10 || after[0].Round != 1991 || after[9].Round != 2000 || after[0].ReplayID != 1990 {
		t.Errorf("%d lives after round 1990 (%v), want the ten", len(after), err)
	}
	back, err := s.LifeOfReplay(t.Context(), id, 1500, 1500)
	if err != nil || back.Round != 1501 {
		t.Errorf("replay 1500 brought life %d (%v), want 1501", back.Round, err)
	}
	if _, err := s.LifeOfReplay(t.Context(), id, 5000, 1995); !errors.Is(err, ErrNotFound) {
		t.Errorf("a replay that brought none: %v", err)
	}

	key := uuid.MustParse(id)
	for name, q := range map[string]struct {
		sql  string
		args pgx.NamedArgs
	}{
		"the newest page":   {linesBefore, pgx.NamedArgs{"id": key, "round": maxRound, "limit": page}},
		"a page within":     {linesBefore, pgx.NamedArgs{"id": key, "round": 1000, "limit": page}},
		"the other way":     {linesAfter, pgx.NamedArgs{"id": key, "round": 1000, "limit": page}},
		"one of a replay":   {lineOf, pgx.NamedArgs{"id": key, "round": 1000, "replay": 1000}},
		"the current life":  {lifeSQL, pgx.NamedArgs{"id": key, "round": 0}},
		"an earlier life":   {lifeSQL, pgx.NamedArgs{"id": key, "round": 3}},
		"facts of the body": {bodyFactsSQL, pgx.NamedArgs{"id": key, "round": 0}},
	} {
		if n := pgtest.RowsRead(t, pool, q.sql, q.args); n > 100 {
			t.Errorf("%s: %d rows were read, want 100 at most", name, n)
		}
	}
}

func TestNotesAreReadAPageAtATime(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	id, s := put(t, pool, paySource, delivery("a", arrival))[0], NewStore(pool)
	for i := range 5 {
		if err := s.AddNote(t.Context(), id, fmt.Sprint(i), Act{Actor: "ada", At: arrival.Add(-time.Duration(i) * time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	first, err := s.NotesAfter(t.Context(), id, 0, 3)
	if err != nil || len(first) != 3 || first[0].Text != "0" {
		t.Fatalf("notes are %v, %v", first, err)
	}
	rest, err := s.NotesAfter(t.Context(), id, first[2].ID, 3)
	if err != nil || len(rest) != 2 || rest[0].Text != "3" || rest[1].Text != "4" {
		t.Errorf("the rest is %v, %v", rest, err)
	}
}

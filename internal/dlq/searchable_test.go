package dlq

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

func never() bool { return false }

// searchText works off all windows as if the drain had paused.
func searchText(t *testing.T, s *SearchText) {
	t.Helper()
	for {
		more, err := s.window(t.Context(), time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

// What was drained is found at once, by its body, and later by its search text.
func TestTextIsFoundBeforeAndAfterItIsIndexed(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := NewStore(pool)
	long := strings.Repeat("文", maxBodyText/3-20) + "ЖУК"
	all := put(t, pool, paySource, delivery(`{"note":"Ünïcode ЖУК"}`, arrival), delivery(long, arrival), delivery("\xff\x00жук", arrival), delivery("", arrival))
	for _, when := range []string{"before", "after"} {
		page, err := store.List(t.Context(), Filter{Text: "жук"})
		if err != nil || len(page.Messages) != 2 {
			t.Errorf("%s: %d found (%v), want 2", when, len(page.Messages), err)
		}
		page, err = store.List(t.Context(), Filter{Text: "жу", Now: arrival})
		if err != nil || len(page.Messages) != 2 || !page.Bounded {
			t.Errorf("%s: %d found by a short text (%v), want 2", when, len(page.Messages), err)
		}
		searchText(t, NewSearchText(pool, never, slog.New(slog.DiscardHandler)))
		if n := number(t, pool, "SELECT count(*) FROM body_texts"); n != 2 {
			t.Errorf("%d have search text, want the 2 that are text and not empty", n)
		}
		exec(t, pool, "UPDATE lives SET body = 'x' WHERE message_id = $1", all[0]) // so that only the text finds it
	}
	if n := number(t, pool, "SELECT count(*) FROM windows WHERE NOT searchable"); n != 0 {
		t.Errorf("%d windows are left", n)
	}
}

// The drain goes first: what it needs the processors for can wait, but not for ever.
func TestSearchTextWaitsForTheDrainToPause(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	put(t, pool, paySource, delivery("a", arrival)) // its window is from the arrival's time
	drains := false
	s := NewSearchText(pool, func() bool { return drains }, slog.New(slog.DiscardHandler))
	for _, tt := range []struct {
		after time.Duration
		want  bool
	}{{searchQuiet - time.Millisecond, false}, {searchQuiet + time.Millisecond, true}} {
		if done, err := s.window(t.Context(), arrival.Add(tt.after)); err != nil || done != tt.want {
			t.Errorf("after %v: %v (%v), want %v", tt.after, done, err, tt.want)
		}
	}
	put(t, pool, paySource, delivery("b", arrival))
	drains = true
	if done, err := s.window(t.Context(), arrival.Add(searchLag-time.Second)); err != nil || done {
		t.Errorf("while this process drains: %v (%v), want it to wait", done, err)
	}
	exec(t, pool, "INSERT INTO windows SELECT gen_random_uuid(), 'pay', $1, '', '', 0", arrival.Add(searchLag))
	if done, err := s.window(t.Context(), arrival.Add(searchLag+time.Millisecond)); err != nil || !done {
		t.Errorf("late: %v (%v), want it done although the drain is busy", done, err)
	}
}

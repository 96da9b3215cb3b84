package dlq

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

func TestDiscardAndRestoreAreAudited(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := NewStore(pool)
	all := put(t, pool, paySource, delivery("a", arrival), delivery("b", arrival), delivery("c", arrival), delivery("d", arrival))
	exec(t, pool, "UPDATE dead_letters SET state = 'replaying', claimed_by = 'x', claimed_until = now() WHERE id = $1", all[1])
	exec(t, pool, "UPDATE dead_letters SET state = 'replayed' WHERE id = $1", all[2])
	nobody := uuid.NewString()

	got, err := store.Discard(t.Context(), []string{all[3], all[2], all[1], all[0], nobody, "x", strings.ToUpper(all[0])}, act)
	if err != nil {
		t.Fatal(err)
	}
	want := []ActResult{
		{all[3], ResultDone, Discarded, ""},
		{all[2], ResultBadState, Replayed, ""},
		{all[1], ResultBadState, Replaying, ""},
		{all[0], ResultDone, Discarded, ""},
		{nobody, ResultNotFound, "", ""},
		{"x", ResultNotFound, "", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("discard (-want +got):\n%s", diff)
	}
	got, err = store.Restore(t.Context(), all[:2], act)
	if diff := cmp.Diff([]ActResult{{all[0], ResultDone, Open, ""}, {all[1], ResultBadState, Replaying, ""}}, got); diff != "" || err != nil {
		t.Errorf("restore (%v) (-want +got):\n%s", err, diff)
	}

	page, err := audit.NewLog(pool).List(t.Context(), audit.Filter{Object: "message " + all[0], Limit: 10})
	if err != nil || len(page.Entries) != 2 {
		t.Fatalf("%d entries (%v), want 2", len(page.Entries), err)
	}
	restored, discarded := page.Entries[0], page.Entries[1]
	if restored.Act != audit.ActRestore || discarded.Act != audit.ActDiscard || discarded.Actor != "ada" || discarded.Reason != "because" || discarded.Result != "done" {
		t.Errorf("audit %+v", page.Entries)
	}
	same, err := audit.NewLog(pool).List(t.Context(), audit.Filter{OperationID: discarded.OperationID, Limit: 10})
	if err != nil || len(same.Entries) != 4 {
		t.Errorf("%d entries share the operation (%v), want 4", len(same.Entries), err)
	}
}

// Two operators take the same messages in opposite orders, again and again.
func TestActsOnTheSameMessagesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := NewStore(pool)
	var deliveries []rabbit.Delivery
	for i := range 50 {
		deliveries = append(deliveries, delivery(fmt.Sprint(i), arrival))
	}
	all := put(t, pool, paySource, deliveries...)
	backwards := make([]string, len(all))
	for i, id := range all {
		backwards[len(all)-1-i] = id
	}
	failed := make(chan error, 2)
	for _, order := range [][]string{all, backwards} {
		go func() {
			var err error
			for range 10 {
				_, e := store.Discard(t.Context(), order, act)
				_, e2 := store.Restore(t.Context(), order, act)
				err = errors.Join(err, e, e2)
			}
			failed <- err
		}()
	}
	if err := errors.Join(<-failed, <-failed); err != nil {
		t.Error(err)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := NewStore(pool)
	id := put(t, pool, paySource, delivery("a", arrival))[0]
	if err := store.AddNote(t.Context(), id, "called\x00the bank", act); err != nil {
		t.Fatal(err)
	}
	if err := store.AddNote(t.Context(), uuid.NewString(), "x", act); !errors.Is(err, ErrNotFound) {
		t.Errorf("note on nothing: %v, want ErrNotFound", err)
	}
	got, err := store.Notes(t.Context(), id)
	if diff := cmp.Diff([]Note{{ID: 1, At: arrival, Actor: "ada", Text: "called\uFFFDthe bank"}}, got); diff != "" || err != nil {
		t.Errorf("notes (%v) (-want +got):\n%s", err, diff)
	}
	if n := number(t, pool, "SELECT count(*) FROM audit WHERE act = 'note' AND object = $1", "message "+id); n != 1 {
		t.Errorf("%d audit entries, want 1", n)
	}
}

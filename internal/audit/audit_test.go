package audit_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

var at = time.Date(2026, 9, 28, 3, 10, 0, 0, time.UTC)

// An entry stands or falls with the act whose transaction it is in.
func TestEntryGoesWithItsTransaction(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	act := func(fail error) error {
		return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			e := audit.Entry{At: at, Actor: "anna", Act: audit.ActNote, Object: "message 1", Result: fmt.Sprint(fail)}
			if err := audit.Write(t.Context(), tx, e); err != nil {
				return err
			}
			return fail
		})
	}
	if err := act(errors.New("rolled back")); err == nil {
		t.Fatal("the act did not fail")
	}
	if err := act(nil); err != nil {
		t.Fatal(err)
	}
	page, err := audit.NewLog(pool).List(t.Context(), audit.Filter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	want := []audit.Entry{{At: at, Actor: "anna", Act: audit.ActNote, Object: "message 1", Result: "<nil>"}}
	for i := range page.Entries {
		page.Entries[i].At, page.Entries[i].ID = page.Entries[i].At.UTC(), 0
	}
	if diff := cmp.Diff(want, page.Entries); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

// The database itself refuses to rewrite or to remove an entry.
func TestEntriesCannotBeChanged(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	e := audit.Entry{At: at, Actor: "anna", Act: audit.ActNote, Object: "message 1", Result: audit.ResultDone}
	if err := audit.Write(t.Context(), pool, e); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"UPDATE audit SET actor = 'nobody'", "DELETE FROM audit", "TRUNCATE audit"} {
		if _, err := pool.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s: was done", sql)
		}
	}
}

func TestListPagesNewestFirst(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for i := range 5 {
		e := audit.Entry{At: at, Actor: "anna", Act: audit.ActReplay, Object: fmt.Sprintf("message %d", i), OperationID: fmt.Sprintf("replay %d", i%2), Result: "sent"}
		if err := audit.Write(t.Context(), pool, e); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name   string
		filter audit.Filter
		want   []string
	}{
		{"all", audit.Filter{}, []string{"message 4", "message 3", "message 2", "message 1", "message 0"}},
		{"one object", audit.Filter{Object: "message 2"}, []string{"message 2"}},
		{"one operation", audit.Filter{OperationID: "replay 1"}, []string{"message 3", "message 1"}},
		{"an object that is not there", audit.Filter{Object: "message 9"}, nil},
	}
	for _, tt := range tests {
		var got []string
		for f := tt.filter; ; {
			f.Limit = 2
			page, err := audit.NewLog(pool).List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Entries {
				got = append(got, e.Object)
			}
			if page.Next == 0 {
				break
			}
			f.Before = page.Next
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestEntriesAreSearchedByReasonAndObject(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for _, e := range []audit.Entry{
		{Object: "message 1", Reason: "Bank is 100% back"}, {Object: "message 2", Reason: "asked by bob"}, {Object: "message 3"},
	} {
		e.At, e.Actor, e.Act, e.Result = at, "anna", audit.ActNote, audit.ResultDone
		if err := audit.Write(t.Context(), pool, e); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name   string
		filter audit.Filter
		want   []string
	}{
		{"the reason, whatever its case", audit.Filter{Search: "bank IS"}, []string{"message 1"}},
		{"signs are what they are", audit.Filter{Search: "%"}, []string{"message 1"}},
		{"an underscore too", audit.Filter{Search: "_"}, nil},
		{"objects", audit.Filter{Search: "key-3", Objects: []string{"message 3"}}, []string{"message 3"}},
		{"a reason or an object", audit.Filter{Search: "bob", Objects: []string{"message 3"}}, []string{"message 3", "message 2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.filter.Limit = 10
			page, err := audit.NewLog(pool).List(t.Context(), tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range page.Entries {
				got = append(got, e.Object)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEntriesAboutAnObjectAreReadAPageAtATime(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	log := audit.NewLog(pool)
	if _, err := pool.Exec(t.Context(), `INSERT INTO audit (at, actor, act, object, result)
		SELECT now(), 'ada', 'note', 'message ' || n % 2, n::text FROM generate_series(1, 4000) AS n; ANALYZE audit`); err != nil {
		t.Fatal(err)
	}
	seen, after := 0, int64(0)
	for {
		entries, err := log.About(t.Context(), "message 1", after, 300)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if want := fmt.Sprint(2*seen + 1); e.Result != want || e.ID <= after {
				t.Fatalf("entry %s comes where %s should", e.Result, want)
			}
			seen, after = seen+1, e.ID
		}
		if len(entries) < 300 {
			break
		}
	}
	if seen != 2000 {
		t.Errorf("%d entries came, want 2000", seen)
	}
}

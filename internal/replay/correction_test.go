package replay_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// A consumer's word that proves wrong later is not forgotten: who acted on it
// finds the correction in the audit.
func TestOutcomeThatIsCorrectedStaysInTheAudit(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id := o.add(t, letter{key: "O1"})
	sent := o.send(t, id)
	if err := o.Report(t.Context(), report(id, sent.ReplayID, "processed")); err != nil {
		t.Fatal(err)
	}
	back := func(tx pgx.Tx) error { return o.NoteReturn(t.Context(), tx, id, sent.ReplayID, time.Now()) }
	for range 2 { // noted twice, it is corrected once
		if err := pgx.BeginFunc(t.Context(), o.pool, back); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"replay intended", "replay sent", "correct dead_again"}
	if diff := cmp.Diff(want, o.trail(t, "message "+id)); diff != "" {
		t.Errorf("audit of the message (-want +got):\n%s", diff)
	}
}

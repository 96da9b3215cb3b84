package dlq

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

// refuse makes Postgres refuse every message with a body that starts with "bad".
const refuse = `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.body_preview LIKE '{"bad%' THEN RAISE EXCEPTION 'no such thing' USING ERRCODE = '22P05'; END IF; RETURN NEW; END $$;
	CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON dead_letters FOR EACH ROW EXECUTE FUNCTION refuse()`

const refusedBody = `{"bad":true,"orderNo":"P9"}`

// reimport re-imports one message and returns what became of it.
func reimport(t *testing.T, pool *pgxpool.Pool, ids ...string) []ActResult {
	t.Helper()
	results, err := NewReimporter(pool, []Source{paySource}).Reimport(t.Context(), ids, act)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func quarantined(t *testing.T, pool *pgxpool.Pool) (ids []string) {
	t.Helper()
	page, err := NewStore(pool).List(t.Context(), Filter{Mark: MarkQuarantine})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Messages {
		ids = append(ids, m.ID)
	}
	return ids
}

func TestWhatPostgresRefusedIsImportedAgainOnceItDoesNotAnyMore(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	exec(t, pool, refuse)
	bad := delivery(refusedBody, arrival)
	bad.Headers["n"] = int8(3)
	all := put(t, pool, paySource, delivery("good", arrival), bad, delivery("also good", arrival))
	ids := quarantined(t, pool)
	if len(ids) != 1 || number(t, pool, "SELECT count(*) FROM dead_letters") != 3 {
		t.Fatalf("%d in quarantine, want the one, and its neighbours stored", len(ids))
	}
	id, s := ids[0], NewStore(pool)
	before, err := s.Message(t.Context(), id)
	if err != nil || before.BusinessKey != "" || !strings.Contains(before.Quarantine, "no such thing") {
		t.Fatalf("before: %+v, %v", before, err)
	}

	if r := reimport(t, pool, id)[0]; r.Result != ResultRefused || !strings.Contains(r.Why, "no such thing") || r.State != Open {
		t.Errorf("while it is refused: %+v", r)
	}
	after, err := s.Message(t.Context(), id)
	if err != nil || after.Quarantine != before.Quarantine || after.BusinessKey != "" {
		t.Errorf("a refusal changed the message: %+v, %v", after, err)
	}

	exec(t, pool, "DROP TRIGGER refuse ON dead_letters")
	if r := reimport(t, pool, id)[0]; r.Result != ResultDone {
		t.Fatalf("once it is not refused: %+v", r)
	}
	m, err := s.Message(t.Context(), id)
	if err != nil || m.Quarantine != "" || m.BusinessKey != "P9" || m.Reason != Rejected || m.Original.Queue != "q.pay" ||
		m.BodyPreview != refusedBody || m.State != Open || m.Round != 1 || !m.DrainedAt.Equal(before.DrainedAt) {
		t.Errorf("after: %+v, %v", m, err)
	}
	life, err := s.Life(t.Context(), id, 0)
	if err != nil || life.Headers["n"] != int8(3) || life.Original.Queue != "q.pay" || life.Properties != bad.Properties {
		t.Errorf("its life: %+v, %v", life, err)
	}
	body, err := s.Body(t.Context(), id, 0)
	if err != nil || string(body) != refusedBody || !bytes.Equal(m.BodySHA256, sum(refusedBody)) {
		t.Errorf("its body: %q, %v", body, err)
	}
	page, err := s.List(t.Context(), Filter{Text: "ORDERNO\":\"P9"})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].ID != id {
		t.Errorf("it is not found by its text: %v, %v", page.Messages, err)
	}
	if n := number(t, pool, "SELECT count(*) FROM audit WHERE act = 'reimport' AND object = $1 AND reason = $2", "message "+id, act.Reason); n != 2 {
		t.Errorf("%d entries in the audit, want the refusal and the success", n)
	}
	if r := reimport(t, pool, id)[0]; r.Result != ResultBadState {
		t.Errorf("once more: %+v", r)
	}
	if m, _ := s.Message(t.Context(), all[0]); m.Quarantine != "" || m.StateSince != before.StateSince {
		t.Errorf("a neighbour changed: %+v", m)
	}
}

func sum(s string) []byte { h := sha256.Sum256([]byte(s)); return h[:] }

// raw stores a message whose headers the client library cannot read.
func raw(t *testing.T, pool *pgxpool.Pool, headers []byte) string {
	t.Helper()
	return put(t, pool, paySource, rabbit.Delivery{
		Exchange: "ex.dlx", RoutingKey: "terminal", Body: []byte(`{"orderNo":"P7"}`), RawHeaders: headers, Unreadable: "nested too deeply",
		Properties: rabbit.Properties{MessageID: "m-7"},
	})[0]
}

func encoded(t *testing.T, h rabbit.Table) []byte {
	t.Helper()
	b, err := rabbit.EncodeHeaders(h)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestHeadersThatTheClientLibraryCannotReadAreReadByAReimport(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	deep := any("x")
	for range 100 {
		deep = rabbit.Table{"a": deep}
	}
	headers := encoded(t, rabbit.Table{"deep": deep, "x-death": []any{died("q.pay", "rejected", 2, arrival)}})
	id, s := raw(t, pool, headers), NewStore(pool)
	if m, err := s.Message(t.Context(), id); err != nil || !strings.Contains(m.Quarantine, "nested too deeply") {
		t.Fatalf("before: %+v, %v", m, err)
	}
	if r := reimport(t, pool, id)[0]; r.Result != ResultDone {
		t.Fatalf("it became %+v", r)
	}
	m, err := s.Message(t.Context(), id)
	if err != nil || m.Quarantine != "" || m.BusinessKey != "P7" || m.Original.Queue != "q.pay" || !m.DiedAt.Equal(arrival) {
		t.Errorf("after: %+v, %v", m, err)
	}
	life, err := s.Life(t.Context(), id, 0)
	if err != nil || !bytes.Equal(life.RawHeaders, headers) || life.Headers["deep"] == nil {
		t.Errorf("its headers are not the bytes that came (%v)", err)
	}
}

func TestWhatCannotBeReadOrSentAgainStaysInQuarantineAndSaysWhy(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	one := encoded(t, rabbit.Table{"a": "1"})
	twice := append(append([]byte{0, 0, 0, byte(2 * (len(one) - 4))}, one[4:]...), one[4:]...)
	for name, c := range map[string]struct {
		headers []byte
		why     string
	}{
		"cut off":      {one[:len(one)-1], "headers cannot be read"},
		"no such type": {[]byte{0, 0, 0, 3, 1, 'a', '?'}, "headers cannot be read"},
		"a name twice": {twice, "a name stands twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, s := raw(t, pool, c.headers), NewStore(pool)
			if r := reimport(t, pool, id)[0]; r.Result != ResultRefused || !strings.Contains(r.Why, c.why) {
				t.Errorf("it became %+v", r)
			}
			m, err := s.Message(t.Context(), id)
			if err != nil || m.Quarantine == "" || m.Original.Queue != "" {
				t.Errorf("after: %+v, %v", m, err)
			}
			if life, err := s.Life(t.Context(), id, 0); err != nil || !bytes.Equal(life.RawHeaders, c.headers) {
				t.Errorf("its headers are not the bytes that came (%v)", err)
			}
		})
	}
}

func TestManyAreReimportedEachOnItsOwn(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	good := raw(t, pool, encoded(t, rabbit.Table{"a": "1"}))
	broken := raw(t, pool, []byte{0, 0, 0, 9})
	ordinary := put(t, pool, paySource, delivery("ordinary", arrival))[0]
	gone := raw(t, pool, []byte{0, 0, 0, 8})
	exec(t, pool, "UPDATE dead_letters SET state = 'discarded' WHERE id = $1", gone)
	unknown := uuid.NewString()
	results := reimport(t, pool, broken, good, ordinary, gone, unknown, "nothing", good)
	var got []string
	for _, r := range results {
		got = append(got, r.Result)
	}
	if want := "refused done bad_state bad_state not_found not_found"; strings.Join(got, " ") != want {
		t.Errorf("results are %v, want %s", got, want)
	}
	if left := quarantined(t, pool); len(left) != 2 {
		t.Errorf("%d are left in quarantine, want two", len(left))
	}
}

// What a replay had sent and the store refused is a message of its own, so that
// the replayed one may not know that it died.
func TestAReimportedReturnIsMarkedAsAPossibleCopy(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	body := `{"orderNo":"P1"}`
	first := put(t, pool, paySource, delivery(body, arrival))[0]
	back := delivery(body, arrival)
	back.Headers[headerMessageID], back.Headers[headerReplayID], back.Headers[headerRound] = first, "7", "1"
	id := put(t, pool, paySource, rabbit.Delivery{Body: back.Body, RawHeaders: encoded(t, back.Headers), Unreadable: "too large"})[0]
	if r := reimport(t, pool, id)[0]; r.Result != ResultDone {
		t.Fatalf("it became %+v", r)
	}
	if m, err := NewStore(pool).Message(t.Context(), id); err != nil || !m.PossibleCopy {
		t.Errorf("it is marked: %v (%v)", m.PossibleCopy, err)
	}
}

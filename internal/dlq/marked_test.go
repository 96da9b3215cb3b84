package dlq

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// killedAfterAck drains a window of n and dies before its receipts are forgotten.
func killedAfterAck(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost, n int) {
	t.Helper()
	l := open(t, pool, paySource, nil)
	defer l.close()
	w, end := takeWindow(t, v, n)
	defer end()
	if _, err := l.store(t.Context(), prepareAll(paySource, w.Deliveries()), time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := w.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func takeWindow(t *testing.T, v *rabbittest.Vhost, n int) (*rabbit.Window, func()) {
	t.Helper()
	c, err := rabbit.DialConsumer(t.Context(), v.URL, "to be killed")
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Next(t.Context(), paySource.Queue, rabbit.Limits{Messages: n, Linger: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return w, func() { c.Close() }
}

// Twins that were given back before the first of them were committed are called
// redelivered too. They must not be taken for those that were acked.
func TestTwinsThatWereGivenBackBeforeTheCommitStayTwins(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		publish(t, v, "twin", "twin", "twin", "twin")
		_, dies := takeWindow(t, v, 4)
		dies()
		killedAfterAck(t, pool, v, 2)

		running(t, DrainOptions{URL: v.URL, Pool: pool})

		untilStored(t, pool, 4, 2) // nothing lost, and what may be a copy is marked
		untilSettled(t, pool, v)
	})
}

// A window that came back as a whole has nothing behind it that is marked, however
// often it comes back: crashes there add nothing.
func TestWindowThatComesBackTwiceAddsNothing(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		publish(t, v, "twin", "twin", "single")
		crash(t, pool, v, 3)
		crash(t, pool, v, 3)
		crash(t, pool, v, 3)

		running(t, DrainOptions{URL: v.URL, Pool: pool})

		untilSettled(t, pool, v)
		untilStored(t, pool, 3, 0)
	})
}

// Once deliveries were given back within a session, marks mean nothing in it.
func TestReceiptsAreNotBelievedInAWindowThatWasRefilled(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	twin := delivery("twin", arrival)
	l := open(t, pool, paySource, nil)
	if _, err := l.store(t.Context(), prepareAll(paySource, []rabbit.Delivery{twin}), arrival); err != nil {
		t.Fatal(err)
	}
	l.close() // killed after the ack
	l = open(t, pool, paySource, nil)
	defer l.close()
	twin.Redelivered = true
	in := &intake{ledger: l, at: arrival, letters: prepareAll(paySource, []rabbit.Delivery{twin})}
	l.distrust = true // as after Window.Refilled
	if _, err := in.store(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := stored(t.Context(), pool, 2, 1); err != nil {
		t.Error(err)
	}
}

// A message that the store fails at for no reason of the message's own kind
// holds up nothing for ever, also where it has gone meanwhile.
func TestMessageThatTheStoreFailsAtIsQuarantined(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	exec(t, pool, `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.body_preview = 'bad' THEN RAISE EXCEPTION 'no room' USING ERRCODE = 'out_of_memory'; END IF; RETURN NEW; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON dead_letters FOR EACH ROW EXECUTE FUNCTION fail()`)
	publish(t, v, "good", "bad", "better", "best")

	d, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})

	untilStored(t, pool, 4, 0)
	untilSettled(t, pool, v)
	untilState(t, d, SourceUp)
	if n := number(t, pool, "SELECT count(*) FROM dead_letters WHERE quarantine LIKE '%no room%'"); n != 1 {
		t.Errorf("%d in quarantine, want the one that fails", n)
	}
}

func TestRehearsalTellsNobody(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, _, back := replayed(t, pool, Replayed)
	notes := &noter{}
	l := open(t, pool, paySource, notes)
	defer l.close()
	letters := prepareAll(paySource, []rabbit.Delivery{{Body: back.Body, Headers: back.Headers}})
	if err := l.rehearse(t.Context(), letters); err != nil {
		t.Fatal(err)
	}
	if told := notes.told(); len(told) != 0 {
		t.Errorf("a rehearsal told of returns: %v", told)
	}
	if n := number(t, pool, "SELECT count(*) FROM lives"); n != 1 {
		t.Errorf("%d lives after a rehearsal, want the one before it", n)
	}
}

func TestReimportKeepsTheOperatorsWord(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	id := put(t, pool, paySource, delivery("a", arrival))[0]
	exec(t, pool, "UPDATE dead_letters SET quarantine = 'x' WHERE id = $1", id)
	store := NewStore(pool)
	if err := store.SetOriginal(t.Context(), id, Origin{Queue: "q.by-hand"}, act); err != nil {
		t.Fatal(err)
	}
	if _, err := NewReimporter(pool, []Source{paySource}).Reimport(t.Context(), []string{id}, act); err != nil {
		t.Fatal(err)
	}
	m, err := store.Message(t.Context(), id)
	if err != nil || m.Quarantine != "" || m.Original.Queue != "q.by-hand" || m.Original.Evidence != OriginOperator {
		t.Errorf("%+v (%v), want the operator's word", m, err)
	}
}

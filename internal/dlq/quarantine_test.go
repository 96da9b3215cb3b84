package dlq

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

func TestOneRefusedMessageCostsOneQuarantine(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		exec(t, pool, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.body_preview = 'bad' THEN RAISE EXCEPTION 'no such thing' USING ERRCODE = '22P05'; END IF; RETURN NEW; END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON dead_letters FOR EACH ROW EXECUTE FUNCTION refuse()`)
		send(t, v,
			rabbit.Message{Body: []byte("good")},
			rabbit.Message{Body: []byte("bad"), Headers: rabbit.Table{"x-order": "B-1", "n": int8(3)}},
			rabbit.Message{Body: []byte("good")})

		running(t, DrainOptions{URL: v.URL, Pool: pool})

		untilStored(t, pool, 3, 0)
		untilSettled(t, pool, v)
		page, err := NewStore(pool).List(t.Context(), Filter{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(page.Messages, func(m Message) bool { return m.Quarantine != "" })
		if i < 0 || !strings.Contains(page.Messages[i].Quarantine, "no such thing") {
			t.Fatalf("messages %+v: want one in quarantine, with the reason", page.Messages)
		}
		life, err := NewStore(pool).Life(t.Context(), page.Messages[i].ID, 0)
		if err != nil || life.Headers["x-order"] != "B-1" || life.Headers["n"] != int8(3) {
			t.Errorf("headers %v (%v), want them as they came", life.Headers, err)
		}
		body, err := NewStore(pool).Body(t.Context(), page.Messages[i].ID, 0)
		if err != nil || string(body) != "bad" {
			t.Errorf("body %q (%v)", body, err)
		}
		if n := number(t, pool, "SELECT count(*) FROM dead_letters WHERE quarantine IS NOT NULL"); n != 1 {
			t.Errorf("%d in quarantine, want 1", n)
		}
	})
}

func TestHeadersThatCannotBeEncodedAreQuarantined(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	all := put(t, pool, paySource,
		rabbit.Delivery{RawHeaders: []byte{0, 0, 0, 3, 1, 'a', 'L'}, Unreadable: "no such type", Body: []byte("a")},
		rabbit.Delivery{Headers: rabbit.Table{"x-delivery-count": int64(1), "no AMQP type": struct{}{}}, Body: []byte("b")},
		delivery("c", arrival))
	for i, quarantined := range []bool{true, true, false} {
		m, err := NewStore(pool).Message(t.Context(), all[i])
		if err != nil || (m.Quarantine != "") != quarantined {
			t.Errorf("message %d: quarantine %q (%v)", i, m.Quarantine, err)
		}
		if _, err := NewStore(pool).Life(t.Context(), all[i], 0); err != nil {
			t.Errorf("message %d: %v", i, err)
		}
	}
	life, err := NewStore(pool).Life(t.Context(), all[0], 0)
	if err != nil || !bytes.Equal(life.RawHeaders, []byte{0, 0, 0, 3, 1, 'a', 'L'}) {
		t.Errorf("headers % x (%v), want the broker's bytes", life.RawHeaders, err)
	}
}

// maxNesting is how deeply the client library lets headers nest.
const maxNesting = 32

// The client library gives up the connection at such headers. They are kept as
// the broker's bytes, and what is behind them comes too.
func TestHeadersThatTheClientLibraryCannotReadAreQuarantined(t *testing.T) {
	t.Parallel()
	nested := func(levels int) rabbit.Table {
		h := rabbit.Table{"leaf": "x"}
		for range levels {
			h = rabbit.Table{"a": h}
		}
		return h
	}
	for name, headers := range map[string]rabbit.Table{
		"nested too deeply": nested(100),
		"too many values":   {"a": slices.Repeat([]any{nil}, 70_000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, v := pgtest.New(t), terminal(t)
			publish(t, v, "1", "2")
			send(t, v, rabbit.Message{Body: []byte("deep"), Headers: nested(maxNesting + 1)}, rabbit.Message{Body: []byte("poison"), Headers: headers})
			publish(t, v, "behind it")

			d, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})

			untilStored(t, pool, 5, 0)
			untilSettled(t, pool, v)
			untilState(t, d, SourceUp)
			var id, body string
			const find = "SELECT id::text, body_preview FROM dead_letters WHERE quarantine LIKE '%headers%'"
			if err := pool.QueryRow(t.Context(), find).Scan(&id, &body); err != nil || body != "poison" {
				t.Fatalf("in quarantine: %q (%v)", body, err)
			}
			want, err := rabbit.EncodeHeaders(headers)
			if err != nil {
				t.Fatal(err)
			}
			life, err := NewStore(pool).Life(t.Context(), id, 0)
			if err != nil || !bytes.Equal(life.RawHeaders, want) {
				t.Errorf("%d bytes of headers (%v), want the %d that were published", len(life.RawHeaders), err, len(want))
			}
		})
	}
}

func TestAStuckDrainGoesOnOnceMessagesAreTakenOff(t *testing.T) {
	t.Parallel()
	poison := fmt.Errorf("consume: %w", rabbit.ErrPoison)
	three, two := int64(3), int64(2)
	d := NewDrain(DrainOptions{Source: paySource})
	hurried := func() bool { defer func() { d.wake = make(chan struct{}, 1) }(); return len(d.wake) == 1 }

	if !d.stumbled(poison) || d.single == 0 {
		t.Error("the first time: want a second look at once, one message at a time")
	}
	d.noteReading(reading{ready: &three})
	if d.noteReading(reading{ready: &two}); hurried() {
		t.Error("it is not stuck yet: want no hurry")
	}
	if d.stumbled(poison) {
		t.Error("the second time: want a rest")
	}
	d.noteReading(reading{ready: &three})
	if d.noteReading(reading{ready: &three}); hurried() {
		t.Error("nothing was taken off: want no hurry")
	}
	if d.noteReading(reading{ready: &two}); !hurried() {
		t.Error("one was taken off: want no rest")
	}
	if pace := troubleOf(poison, paySource).pace; pace != paceNever {
		t.Errorf("tries again by itself (%v), want it to wait: each try counts", pace)
	}
}

package dlq

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// noter remembers what it is told, and then does what a test wants.
type noter struct {
	mu    sync.Mutex
	notes []string
	then  func()
}

func (n *noter) NoteReturn(_ context.Context, _ pgx.Tx, id string, replay int64, _ time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notes = append(n.notes, fmt.Sprintf("%s by %d", id, replay))
	if n.then != nil {
		n.then()
		n.then = nil
	}
	return nil
}

func (n *noter) told() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.notes)
}

// replayed makes a message that was replayed once, and returns its id, the
// replay's, and what comes back when that replay fails.
func replayed(t *testing.T, pool *pgxpool.Pool, state State) (string, int64, rabbit.Message) {
	t.Helper()
	id := put(t, pool, paySource, delivery(`{"orderNo":"A-1"}`, arrival))[0]
	var replay int64
	const start = `INSERT INTO replays (state, actor, reason, created_at, total) VALUES ('done', 'ada', 'x', now(), 1) RETURNING id`
	if err := pool.QueryRow(t.Context(), start).Scan(&replay); err != nil {
		t.Fatal(err)
	}
	exec(t, pool, `INSERT INTO attempts
			(replay_id, message_id, round, state, outcome, verdict, claimed_at, sent_at, route, to_exchange, to_routing_key, to_queue)
		VALUES ($1, $2, 1, 'sent', 'awaited', 'will_run', now(), now(), 'queue', '', 'q.pay', 'q.pay')`, replay, id)
	exec(t, pool, "UPDATE dead_letters SET state = $2 WHERE id = $1", id, state)
	if state == Replaying {
		exec(t, pool, "UPDATE dead_letters SET claimed_by = 'x', claimed_until = now() WHERE id = $1", id)
	}
	return id, replay, rabbit.Message{
		Body: []byte(`{"orderNo":"A-1"}`),
		Headers: rabbit.Table{
			"dlo-message-id": id, "dlo-replay-id": fmt.Sprint(replay), "dlo-round": "1", "x-exception-type": "Busy",
		},
	}
}

func TestWhatComesBackDeadJoinsItsThread(t *testing.T) {
	t.Parallel()
	for _, state := range []State{Replayed, Resolved, Replaying, Discarded, Open} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			pool, v := pgtest.New(t), terminal(t)
			id, replay, back := replayed(t, pool, state)
			notes := &noter{}
			running(t, DrainOptions{URL: v.URL, Pool: pool, Returns: notes})

			send(t, v, back)

			store := NewStore(pool)
			poll.Until(t, patience, func() error {
				m, err := store.Message(t.Context(), id)
				if err == nil && (m.Round != 2 || m.State != Open || m.ClaimedBy != "" || m.Failure.Type != "Busy") {
					err = fmt.Errorf("message %+v", m)
				}
				return err
			})
			if err := stored(t.Context(), pool, 1, 0); err != nil {
				t.Error(err)
			}
			lives, err := store.LivesBefore(t.Context(), id, 0, 100)
			if err != nil || len(lives) != 2 || lives[0].Round != 2 || lives[0].ReplayID != replay || lives[1].ReplayID != 0 {
				t.Errorf("lives %+v (%v)", lives, err)
			}
			if want := []string{fmt.Sprintf("%s by %d", id, replay)}; !slices.Equal(notes.told(), want) {
				t.Errorf("noted %v, want %v", notes.told(), want)
			}
		})
	}
}

func TestAReturnWhoseAckIsLostMakesOneLife(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		id, _, back := replayed(t, pool, Replayed)
		address, proxy := through(t, v.URL)
		// The connection is cut in the transaction: the ack cannot be heard.
		notes := &noter{then: proxy.Cut}
		send(t, v, back)
		send(t, v, back) // a consumer that dies between its publish and its ack makes a second one

		running(t, DrainOptions{URL: address, Pool: pool, Returns: notes})

		poll.True(t, patience, "the queue is empty", func() bool {
			return v.Depth(t, paySource.Queue) == 0 && number(t, pool, "SELECT count(*) FROM lives") > 2
		})
		untilSettled(t, pool, v)
		if err := stored(t.Context(), pool, 2, 1); err != nil {
			t.Error(err)
		}
		lives, err := NewStore(pool).LivesBefore(t.Context(), id, 0, 100)
		if err != nil || len(lives) != 2 {
			t.Errorf("%d lives (%v), want 2", len(lives), err)
		}
		if len(notes.told()) != 1 {
			t.Errorf("noted %v, want it once", notes.told())
		}
	})
}

// A replay through the original exchange reaches every queue that is bound to
// it; each copy may die, and each of them is a dead letter.
func TestEveryCopyOfOneReplayThatDiesIsKept(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	id, _, back := replayed(t, pool, Replayed)
	exec(t, pool, `UPDATE attempts SET route = 'exchange', to_exchange = 'ex.pay', to_routing_key = ''`)
	v.Exchange(t, "ex.pay", "fanout", nil)
	for _, queue := range []string{"q.audit", "q.pay"} {
		v.Queue(t, queue, rabbit.Table{
			"x-message-ttl": int32(1), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": paySource.Queue,
		})
		v.Bind(t, queue, "", "ex.pay")
	}
	back.Exchange = "ex.pay"
	delete(back.Headers, "x-exception-type")
	send(t, v, back)
	poll.True(t, patience, "both are dead", func() bool { return v.Depth(t, paySource.Queue) == 2 })

	running(t, DrainOptions{URL: v.URL, Pool: pool, Returns: &noter{}})

	untilStored(t, pool, 2, 1)
	poll.Until(t, patience, func() error { // it may come in a window of its own
		m, err := NewStore(pool).Message(t.Context(), id)
		if err != nil || m.Round != 2 || m.Original.Queue != "q.pay" {
			return fmt.Errorf("message %+v (%w), want its second life, from the queue it was sent to", m, err)
		}
		return nil
	})
	untilSettled(t, pool, v)
	if err := stored(t.Context(), pool, 2, 1); err != nil {
		t.Error(err)
	}
	if n := number(t, pool, "SELECT count(*) FROM dead_letters WHERE possible_copy AND original_queue = 'q.audit'"); n != 1 {
		t.Errorf("%d copies from the other queue, want 1", n)
	}
}

// arrivals is back, as the terminal queue delivers it, once for each change.
func arrivals(back rabbit.Message, changes ...func(*rabbit.Delivery)) []rabbit.Delivery {
	all := make([]rabbit.Delivery, len(changes))
	for i, change := range changes {
		all[i] = rabbit.Delivery{RoutingKey: paySource.Queue, Headers: maps.Clone(back.Headers), Body: back.Body}
		change(&all[i])
	}
	return all
}

func asItIs(*rabbit.Delivery) {}

func with(header string, value any) func(*rabbit.Delivery) {
	return func(d *rabbit.Delivery) { d.Headers[header] = value }
}

func TestEventsThatCopiedTheHeadersOfAReplayAreMessagesOfTheirOwn(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, _, back := replayed(t, pool, Replayed)
	event := func(body string) func(*rabbit.Delivery) {
		return func(d *rabbit.Delivery) { d.Body = []byte(body) }
	}
	put(t, pool, paySource, arrivals(back, asItIs, event("shipped"), event("billed"), event("billed"), event("mailed"))...)
	if err := stored(t.Context(), pool, 5, 0); err != nil {
		t.Error(err)
	}
}

func TestOnlyWhatAReplaySentJoinsItsThread(t *testing.T) {
	t.Parallel()
	other := Source{Name: "refunds", Queue: "q.refunds.terminal"}
	cases := []struct {
		name   string
		change func(*rabbit.Delivery)
		before string // what happened to the attempt
		source Source
		copies int
	}{
		{"a replay that there never was", with("dlo-replay-id", "999999"), "", paySource, 1},
		{"no replay", func(d *rabbit.Delivery) { delete(d.Headers, "dlo-replay-id") }, "", paySource, 1},
		{"an attempt that never came to the publish", asItIs, "UPDATE attempts SET route = NULL", paySource, 1},
		{"another round", with("dlo-round", "2"), "", paySource, 1},
		{"no round", func(d *rabbit.Delivery) { delete(d.Headers, "dlo-round") }, "", paySource, 1},
		{"another source", asItIs, "", other, 1},
		{"another queue", with("x-original-queue", "q.audit"), "", paySource, 1},
		{"another body", func(d *rabbit.Delivery) { d.Body = []byte("x") }, "", paySource, 0},
		{"an id in capitals", func(d *rabbit.Delivery) {
			d.Headers["dlo-message-id"] = strings.ToUpper(d.Headers["dlo-message-id"].(string))
		}, "", paySource, 0},
		{"an id in braces", func(d *rabbit.Delivery) {
			d.Headers["dlo-message-id"] = "{" + d.Headers["dlo-message-id"].(string) + "}"
		}, "", paySource, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			id, _, back := replayed(t, pool, Resolved)
			if c.before != "" {
				exec(t, pool, c.before)
			}
			notes := &noter{}
			putLetters(t, pool, c.source, notes, arrivals(back, c.change)...)
			if err := stored(t.Context(), pool, 2, c.copies); err != nil {
				t.Error(err)
			}
			m, err := NewStore(pool).Message(t.Context(), id)
			if err != nil || m.Round != 1 || m.State != Resolved {
				t.Errorf("message %+v (%v), want it left alone", m, err)
			}
			if len(notes.told()) != 0 {
				t.Errorf("noted %v, want nothing", notes.told())
			}
			if n := number(t, pool, "SELECT count(*) FROM dead_letters WHERE id <> $1 AND source = $2", id, c.source.Name); n != 1 {
				t.Errorf("%d new messages of %s, want 1", n, c.source.Name)
			}
		})
	}
}

func TestALateReturnStillJoins(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	id, first, back := replayed(t, pool, Open)
	var second int64
	const again = `INSERT INTO replays (state, actor, reason, created_at, total) VALUES ('done', 'ada', 'x', now(), 1) RETURNING id`
	if err := pool.QueryRow(t.Context(), again).Scan(&second); err != nil {
		t.Fatal(err)
	}
	exec(t, pool, `INSERT INTO attempts (replay_id, message_id, round, state, outcome, verdict, claimed_at, sent_at, route, to_queue)
		VALUES ($1, $2, 1, 'sent', 'awaited', 'will_run', now(), now(), 'queue', 'q.pay')`, second, id)

	put(t, pool, paySource, arrivals(back, with("dlo-replay-id", fmt.Sprint(second)), asItIs, asItIs)...)

	if err := stored(t.Context(), pool, 2, 1); err != nil {
		t.Error(err)
	}
	lives, err := NewStore(pool).LivesBefore(t.Context(), id, 0, 100)
	if err != nil || len(lives) != 3 || lives[0].ReplayID != first || lives[1].ReplayID != second {
		t.Errorf("lives %+v (%v)", lives, err)
	}
}

func TestAReturnToAMessageThatWasDoneWithIsAudited(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state   State
		settled bool // the attempt has an outcome, whose correction the replay audits itself
		entries int
	}{
		{Discarded, false, 1}, {Discarded, true, 1}, {Resolved, false, 1}, {Resolved, true, 0}, {Replayed, false, 0}, {Open, true, 0},
	} {
		t.Run(fmt.Sprintf("%s, settled %t", c.state, c.settled), func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			id, replay, back := replayed(t, pool, c.state)
			if c.settled {
				exec(t, pool, "UPDATE attempts SET outcome = 'processed', outcome_source = 'report', settled_at = now()")
			}
			putLetters(t, pool, paySource, &noter{}, arrivals(back, asItIs)...)

			if n := number(t, pool, "SELECT count(*) FROM audit"); n != c.entries {
				t.Fatalf("%d audit entries, want %d", n, c.entries)
			}
			n := number(t, pool, `SELECT count(*) FROM audit WHERE actor = 'console' AND act = 'correct' AND object = $1
				AND operation_id = $2 AND reason LIKE $3 AND result = 'dead_again'`,
				"message "+id, fmt.Sprintf("replay %d", replay), "%"+string(c.state)+"%dead%")
			if n != c.entries {
				t.Errorf("%d entries say what it was and what became of it, want %d", n, c.entries)
			}
		})
	}
}

func TestAReturnOfAMessageThatIsNotKnownIsAnOrdinaryOne(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	d := delivery("x", arrival)
	d.Headers["dlo-message-id"], d.Headers["dlo-round"] = "0198f3a0-0000-7000-8000-000000000000", "1"
	put(t, pool, paySource, d)
	if err := stored(t.Context(), pool, 1, 0); err != nil {
		t.Error(err)
	}
}

// EasyNetQ puts what failed into an envelope: the headers of the replay, and the
// body that was sent, are inside.
func TestAnEnvelopeThatComesBackJoinsItsThread(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	dead := func(headers string) rabbit.Message {
		return rabbit.Message{Body: fmt.Appendf(nil, `{"RoutingKey":"","Exchange":"","Queue":"q.pay","Exception":"System.Exception: no","Message":"{\"orderNo\":\"A-1\"}",`+
			`"DateTime":"2026-03-01T02:10:00Z","BasicProperties":{"Headers":{%s}}}`, headers)}
	}
	id := put(t, pool, paySource, rabbit.Delivery{Body: dead("").Body})[0]
	var replay int64
	const start = `INSERT INTO replays (state, actor, reason, created_at, total) VALUES ('done', 'ada', 'x', now(), 1) RETURNING id`
	if err := pool.QueryRow(t.Context(), start).Scan(&replay); err != nil {
		t.Fatal(err)
	}
	exec(t, pool, `INSERT INTO attempts
			(replay_id, message_id, round, state, outcome, verdict, claimed_at, sent_at, route, to_exchange, to_routing_key, to_queue, sent_sha256)
		VALUES ($1, $2, 1, 'sent', 'awaited', 'will_run', now(), now(), 'queue', '', 'q.pay', 'q.pay', sha256('{"orderNo":"A-1"}'))`, replay, id)
	exec(t, pool, "UPDATE dead_letters SET state = 'replayed' WHERE id = $1", id)
	inside := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) } // as .NET writes it
	notes := &noter{}
	running(t, DrainOptions{URL: v.URL, Pool: pool, Returns: notes})

	send(t, v, dead(fmt.Sprintf(`"dlo-message-id":%q,"dlo-replay-id":%q,"dlo-round":%q`, inside(id), inside(fmt.Sprint(replay)), inside("1"))))

	poll.Until(t, patience, func() error {
		m, err := NewStore(pool).Message(t.Context(), id)
		if err == nil && (m.Round != 2 || m.State != Open || m.BusinessKey != "A-1") {
			err = fmt.Errorf("message %+v", m)
		}
		return err
	})
	if err := stored(t.Context(), pool, 1, 0); err != nil {
		t.Error(err)
	}
	if want := []string{fmt.Sprintf("%s by %d", id, replay)}; !slices.Equal(notes.told(), want) {
		t.Errorf("noted %v, want %v", notes.told(), want)
	}
}

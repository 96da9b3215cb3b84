package dlq

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
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
	exec(t, pool, `INSERT INTO attempts (replay_id, message_id, round, state, outcome, verdict, claimed_at, sent_at)
		VALUES ($1, $2, 1, 'sent', 'awaited', 'will_run', now(), now())`, replay, id)
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
			lives, err := store.Lives(t.Context(), id)
			if err != nil || len(lives) != 2 || lives[0].Round != 2 || lives[0].ReplayID != replay || lives[1].ReplayID != 0 {
				t.Errorf("lives %+v (%v)", lives, err)
			}
			if want := []string{fmt.Sprintf("%s by %d", id, replay)}; !slices.Equal(notes.told(), want) {
				t.Errorf("noted %v, want %v", notes.told(), want)
			}
		})
	}
}

func TestAReturnDeliveredTwiceMakesOneLife(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	id, _, back := replayed(t, pool, Replayed)
	address, proxy := through(t, v.URL)
	// The connection is cut in the transaction: the ack cannot be heard.
	notes := &noter{then: proxy.Cut}
	send(t, v, back)
	send(t, v, back) // and a copy that the consumer made

	running(t, DrainOptions{URL: address, Pool: pool, Returns: notes})

	poll.True(t, patience, "the queue is empty", func() bool {
		return v.Depth(t, paySource.Queue) == 0 && number(t, pool, "SELECT count(*) FROM lives") > 1
	})
	untilSettled(t, pool, v)
	if err := stored(t.Context(), pool, 1, 0); err != nil {
		t.Error(err)
	}
	lives, err := NewStore(pool).Lives(t.Context(), id)
	if err != nil || len(lives) != 2 {
		t.Errorf("%d lives (%v), want 2", len(lives), err)
	}
	if len(notes.told()) != 1 {
		t.Errorf("noted %v, want it once", notes.told())
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

package dlq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/cutproxy"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// patience is how long a test waits for what should happen soon, also on a
// busy machine.
const patience = 40 * time.Second

// terminal returns a broker with the terminal queue of paySource.
func terminal(t *testing.T) *rabbittest.Vhost {
	t.Helper()
	v := rabbittest.New(t)
	v.Queue(t, paySource.Queue, nil)
	return v
}

// running runs a drain until the test ends, or until the function returned
// here is called.
func running(t *testing.T, o DrainOptions) (*Drain, func()) {
	t.Helper()
	if o.Source.Name == "" {
		o.Source = paySource
	}
	o.Log = slog.New(slog.DiscardHandler)
	d := NewDrain(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("drain ended with %v, want nil", err)
		}
	})
	t.Cleanup(stop)
	return d, stop
}

func publish(t *testing.T, v *rabbittest.Vhost, bodies ...string) {
	t.Helper()
	for _, b := range bodies {
		v.Publish(t, "", paySource.Queue, amqp.Publishing{Body: []byte(b), DeliveryMode: amqp.Persistent})
	}
}

func untilStored(t *testing.T, pool *pgxpool.Pool, rows, copies int) {
	t.Helper()
	poll.Until(t, patience, func() error { return stored(t.Context(), pool, rows, copies) })
}

// untilSettled waits until all that is stored is acked for good.
func untilSettled(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
	t.Helper()
	untilReceipts(t, pool, v, "SELECT count(*) FROM receipts")
}

// untilQuiet is untilSettled where windows of lost connections may be in doubt
// for a while.
func untilQuiet(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
	t.Helper()
	untilReceipts(t, pool, v, "SELECT count(*) FROM receipts WHERE looks = 0")
}

func untilReceipts(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost, count string) {
	t.Helper()
	poll.Until(t, patience, func() error {
		n, err := numberOrError(t.Context(), pool, count)
		if left := v.Depth(t, paySource.Queue); err == nil && n+left > 0 {
			err = fmt.Errorf("%d receipts are outstanding and %d messages on the broker", n, left)
		}
		return err
	})
}

// through returns a URL that leads through a proxy.
func through(t *testing.T, address string) (string, *cutproxy.Proxy) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := cutproxy.New(t, u.Host)
	u.Host = p.Addr()
	return u.String(), p
}

func poolThrough(t *testing.T, pool *pgxpool.Pool) (*pgxpool.Pool, *cutproxy.Proxy) {
	t.Helper()
	address, proxy := through(t, pgtest.URL(pool))
	cut, err := pgxpool.New(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cut.Close)
	return cut, proxy
}

func untilState(t *testing.T, d *Drain, want SourceState) SourceStatus {
	t.Helper()
	poll.Until(t, patience, func() error {
		if s := d.Status(); s.State != want {
			return fmt.Errorf("state %s (%s), want %s", s.State, s.Why, want)
		}
		return nil
	})
	return d.Status()
}

func TestDrainStoresWhatTheBrokerDeadLetters(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	v.Queue(t, "q.pay", amqp.Table{
		"x-message-ttl": int32(1), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": paySource.Queue,
	})
	v.Exchange(t, "ex.pay", amqp.ExchangeDirect, nil)
	v.Bind(t, "q.pay", "pay.success", "ex.pay")
	reg := prometheus.NewPedanticRegistry()
	d, _ := running(t, DrainOptions{
		URL: v.URL, Pool: pool, Metrics: NewMetrics(reg, []string{"pay"}), Management: rabbit.NewManagement(v.ManagementURL, v.URL),
	})

	v.Publish(t, "ex.pay", "pay.success", amqp.Publishing{Body: []byte(`{"orderNo":"A-1"}`), ContentType: "application/json"})

	untilStored(t, pool, 1, 0)
	untilSettled(t, pool, v)
	page, err := NewStore(pool).List(t.Context(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	m := page.Messages[0]
	if m.State != Open || m.Round != 1 || m.Reason != Expired || m.BusinessKey != "A-1" || m.Source != "pay" || m.ContentType != "application/json" ||
		m.Original.Queue != "q.pay" || *m.Original.Exchange != "ex.pay" || *m.Original.RoutingKey != "pay.success" || m.Original.Evidence != OriginXDeath {
		t.Errorf("message %+v", m)
	}
	if time.Since(m.DiedAt) > time.Minute {
		t.Errorf("died at %v", m.DiedAt)
	}
	if n := testutil.ToFloat64(d.Metrics.messages.WithLabelValues("pay", "expired")); n != 1 {
		t.Errorf("%v drained by the metric, want 1", n)
	}
	poll.Until(t, patience, func() error {
		s := d.Status()
		if s.State != SourceUp || s.Why != "" || s.Ready == nil || *s.Ready != 0 || s.Unacked == nil || *s.Unacked != 0 || s.LastDrainedAt.IsZero() {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
	if n := testutil.ToFloat64(d.Metrics.running.WithLabelValues("pay")); n != 1 {
		t.Errorf("dlo_drain_up %v, want 1", n)
	}
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("metrics: %v %v", problems, err)
	}
}

// crash drains one window up to the commit and then drops the connection
// without an ack, as a killed console does.
func crash(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost, messages int) {
	t.Helper()
	l := open(t, pool, paySource, nil)
	defer l.close()
	c, err := rabbit.DialConsumer(t.Context(), v.URL, "to be killed")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w, err := c.Next(t.Context(), paySource.Queue, rabbit.Limits{Messages: messages, Linger: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Deliveries()) != messages {
		t.Fatalf("a window of %d, want %d", len(w.Deliveries()), messages)
	}
	if _, err := l.store(t.Context(), prepareAll(paySource, w.Deliveries()), time.Now()); err != nil {
		t.Fatal(err)
	}
}

func TestKilledBetweenCommitAndAckStoresNothingTwice(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	publish(t, v, "twin", "twin", "single", "later")
	crash(t, pool, v, 3)
	publish(t, v, "twin") // a third one, that was never delivered

	running(t, DrainOptions{URL: v.URL, Pool: pool})

	untilStored(t, pool, 5, 0)
	untilSettled(t, pool, v)
	if n := number(t, pool, "SELECT count(*) FROM dead_letters WHERE body_preview = 'twin'"); n != 3 {
		t.Errorf("%d twins, want 3", n)
	}
	if n := number(t, pool, "SELECT count(*) FROM receipts"); n != 0 {
		t.Errorf("%d receipts are left, want none", n)
	}
}

// The second crash comes before the first one's window is settled. Nothing is
// lost, and what cannot be told apart is marked.
func TestKilledAgainWhileLookingMarksTheSurplus(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	publish(t, v, "a", "b")
	crash(t, pool, v, 2)
	// Another console looks, and dies before it has stored anything.
	open(t, pool, paySource, nil).close()

	running(t, DrainOptions{URL: v.URL, Pool: pool})

	untilStored(t, pool, 4, 2)
	untilSettled(t, pool, v)
}

// The receipts pass on from window to window, however often it crashes there.
func TestKilledTwiceBetweenCommitAndAck(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	publish(t, v, "twin", "twin", "single")
	crash(t, pool, v, 3)
	crash(t, pool, v, 3)
	crash(t, pool, v, 2) // a smaller window

	running(t, DrainOptions{URL: v.URL, Pool: pool})

	poll.Until(t, patience, func() error {
		if n := v.Depth(t, paySource.Queue); n > 0 {
			return fmt.Errorf("%d messages left", n)
		}
		return nil
	})
	untilSettled(t, pool, v)
	n := number(t, pool, "SELECT count(*) FROM dead_letters WHERE NOT possible_copy")
	if n != 3 {
		t.Errorf("%d messages that are no copies, want 3", n)
	}
}

// basicAck is how the ack of a window begins on the wire: class and method.
var basicAck = []byte{0, 60, 0, 80}

func TestConnectionLostAfterTheBrokerHeardTheAck(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	address, proxy := through(t, v.URL)
	heard := proxy.HoldAnswersAfter(basicAck)
	running(t, DrainOptions{URL: address, Pool: pool})
	publish(t, v, "twin")

	select {
	case <-heard:
	case <-time.After(patience):
		t.Fatal("no ack was sent")
	}
	poll.True(t, patience, "the broker has nothing", func() bool { return v.Depth(t, paySource.Queue) == 0 })
	proxy.Cut()
	proxy.HoldAnswers(false)
	publish(t, v, "twin", "twin")

	untilStored(t, pool, 3, 0)
	untilQuiet(t, pool, v)
}

// A drain that loses its connection again and again loses no message, and what
// it stores too often it marks.
func TestConnectionsCutAgainAndAgain(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	address, broker := through(t, v.URL)
	behind, postgres := poolThrough(t, pool)
	const kinds, each = 150, 4
	for range each {
		for k := range kinds {
			publish(t, v, fmt.Sprintf("body %d", k))
		}
	}
	running(t, DrainOptions{URL: address, Pool: behind})

	cuts := time.NewTicker(120 * time.Millisecond)
	defer cuts.Stop()
	for i := range 20 {
		<-cuts.C
		if i%4 == 3 {
			postgres.Cut()
			continue
		}
		broker.Cut()
	}

	poll.Until(t, patience, func() error {
		n, err := numberOrError(t.Context(), pool, "SELECT count(*) FROM dead_letters")
		if err == nil && n < kinds*each {
			err = fmt.Errorf("%d of %d stored", n, kinds*each)
		}
		return err
	})
	poll.True(t, patience, "the queue is empty", func() bool { return v.Depth(t, paySource.Queue) == 0 })
	untilQuiet(t, pool, v)
	const wrong = `
		SELECT count(*) FROM (SELECT body_preview, count(*) AS n, count(*) FILTER (WHERE NOT possible_copy) AS sure
			FROM dead_letters GROUP BY body_preview) AS kinds WHERE n < $1 OR sure > $1`
	if n := number(t, pool, wrong, each); n != 0 {
		t.Errorf("%d of %d kinds are stored less than %d times, or more often without a mark", n, kinds, each)
	}
	if n := number(t, pool, "SELECT count(DISTINCT body_preview) FROM dead_letters"); n != kinds {
		t.Errorf("%d kinds, want %d", n, kinds)
	}
}

func TestPostgresDownLosesNothing(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	behind, proxy := poolThrough(t, pool)
	d, _ := running(t, DrainOptions{URL: v.URL, Pool: behind})
	untilState(t, d, SourceUp)
	proxy.Refuse(true)
	proxy.Cut()

	publish(t, v, "a", "b", "b")

	s := untilState(t, d, SourceBlocked)
	if !strings.Contains(s.Why, "Postgres") {
		t.Errorf("why %q", s.Why)
	}
	poll.True(t, patience, "all messages back on the broker", func() bool { return v.Depth(t, paySource.Queue) == 3 })
	proxy.Refuse(false)
	untilStored(t, pool, 3, 0)
	untilSettled(t, pool, v)
	untilState(t, d, SourceUp)
}

func TestCommitWhoseResultIsUnknown(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	behind, proxy := poolThrough(t, pool)
	d, _ := running(t, DrainOptions{URL: v.URL, Pool: behind})
	untilState(t, d, SourceUp)
	// The window's own transaction, not one of the drain's small ones.
	exec(t, pool, `CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END $$;
		CREATE TRIGGER slowly AFTER INSERT ON receipts FOR EACH STATEMENT EXECUTE FUNCTION slowly()`)
	publish(t, v, "a", "a")
	poll.Until(t, patience, func() error {
		n, err := numberOrError(t.Context(), pool, "SELECT count(*) FROM pg_locks WHERE relation = 'receipts'::regclass AND mode = 'RowExclusiveLock' AND pid <> pg_backend_pid()")
		if err == nil && n == 0 {
			err = errors.New("the window is not being stored")
		}
		return err
	})
	committed := proxy.HoldAnswersAfter([]byte("commit"))
	<-committed
	untilStored(t, pool, 2, 0)
	proxy.Cut()
	proxy.HoldAnswers(false)

	untilSettled(t, pool, v)
	untilState(t, d, SourceUp)
	if err := stored(t.Context(), pool, 2, 0); err != nil {
		t.Error(err)
	}
}

func TestOneRefusedMessageCostsOneQuarantine(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	exec(t, pool, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.body_preview = 'bad' THEN RAISE EXCEPTION 'no such thing' USING ERRCODE = '22P05'; END IF; RETURN NEW; END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON dead_letters FOR EACH ROW EXECUTE FUNCTION refuse()`)
	v.Publish(t, "", paySource.Queue, amqp.Publishing{Body: []byte("good")})
	v.Publish(t, "", paySource.Queue, amqp.Publishing{Body: []byte("bad"), Headers: amqp.Table{"x-order": "B-1", "n": int8(3)}})
	v.Publish(t, "", paySource.Queue, amqp.Publishing{Body: []byte("good")})

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
}

func TestMissingQueueThatAppearsLater(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), rabbittest.New(t)
	d, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})
	if s := untilState(t, d, SourceMissing); !strings.Contains(s.Why, paySource.Queue) || s.Ready != nil {
		t.Errorf("status %+v", s)
	}

	v.Queue(t, paySource.Queue, nil)
	publish(t, v, "a")

	untilStored(t, pool, 1, 0)
	untilState(t, d, SourceUp)
}

func TestBrokerThatIsNotThere(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	address, proxy := through(t, v.URL)
	proxy.Refuse(true)
	d, _ := running(t, DrainOptions{URL: address, Pool: pool})
	if s := untilState(t, d, SourceDown); s.Why == "" || strings.Contains(s.Why, "guest") && strings.Contains(s.Why, ":guest@") {
		t.Errorf("why %q", s.Why)
	}
	publish(t, v, "a")
	proxy.Refuse(false)
	untilStored(t, pool, 1, 0)
}

func TestPauseLastsAcrossARestart(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	d, stop := running(t, DrainOptions{URL: v.URL, Pool: pool})
	untilState(t, d, SourceUp)
	if err := d.Pause(t.Context(), act); err != nil {
		t.Fatal(err)
	}
	if s := d.Status(); s.State != SourcePaused || !s.Paused || s.PausedBy != "ada" {
		t.Errorf("status %+v, want paused by ada at once", s)
	}
	stop()
	publish(t, v, "a")

	again, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})
	untilState(t, again, SourcePaused)
	poll.Until(t, patience, func() error {
		if s := again.Status(); !s.Paused || s.PausedBy != "ada" || s.Ready == nil || *s.Ready != 1 {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
	if err := stored(t.Context(), pool, 0, 0); err != nil {
		t.Error(err)
	}

	if err := again.Resume(t.Context(), act); err != nil {
		t.Fatal(err)
	}
	untilStored(t, pool, 1, 0)
	if n := number(t, pool, "SELECT count(*) FROM audit WHERE act IN ('pause', 'resume') AND object = 'source pay' AND actor = 'ada'"); n != 2 {
		t.Errorf("%d audit entries, want 2", n)
	}
}

func TestTwoConsolesDrainOneSourceByTurns(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	first, stop := running(t, DrainOptions{URL: v.URL, Pool: pool})
	untilState(t, first, SourceUp)
	second, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})
	poll.True(t, patience, "the second waits", func() bool { return second.Status().Why == errElsewhere.Error() })

	// What the second is told goes for the first too.
	if err := second.Pause(t.Context(), act); err != nil {
		t.Fatal(err)
	}
	untilState(t, first, SourcePaused)
	if err := second.Resume(t.Context(), act); err != nil {
		t.Fatal(err)
	}
	poll.True(t, patience, "one of them drains", func() bool {
		return first.Status().State == SourceUp && second.Status().State == SourceUp
	})
	stop()
	publish(t, v, "a")
	untilStored(t, pool, 1, 0)
	untilSettled(t, pool, v)
}

func TestShutdownFinishesTheWindowInHand(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), terminal(t)
	d, stop := running(t, DrainOptions{URL: v.URL, Pool: pool})
	untilState(t, d, SourceUp)
	locked, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer locked.Rollback(t.Context())
	if _, err := locked.Exec(t.Context(), "LOCK TABLE dead_letters IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	publish(t, v, "a")
	poll.True(t, patience, "the window waits for the lock", func() bool {
		return number(t, pool, "SELECT count(*) FROM pg_locks WHERE relation = 'dead_letters'::regclass AND NOT granted") > 0
	})
	ended := make(chan struct{})
	go func() { stop(); close(ended) }()
	if err := locked.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-ended

	if err := stored(t.Context(), pool, 1, 0); err != nil {
		t.Error(err)
	}
	untilSettled(t, pool, v)
}

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
func replayed(t *testing.T, pool *pgxpool.Pool, state State) (string, int64, amqp.Publishing) {
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
	return id, replay, amqp.Publishing{
		Body: []byte(`{"orderNo":"A-1"}`),
		Headers: amqp.Table{
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

			v.Publish(t, "", paySource.Queue, back)

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
	v.Publish(t, "", paySource.Queue, back)
	v.Publish(t, "", paySource.Queue, back) // and a copy that the consumer made

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

// A broker that was killed delivers again what was acked in its last moments.
func TestRedeliveryOfWhatWasAckedIsMarked(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	d := delivery("a", arrival)
	put(t, pool, paySource, d)
	d.Redelivered = true
	d.Headers["x-delivery-count"] = int64(1) // a quorum queue counts
	put(t, pool, paySource, d)
	if err := stored(t.Context(), pool, 2, 1); err != nil {
		t.Error(err)
	}
}

func TestReceiptsAreForgottenOnceNothingCanComeBack(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	l := open(t, pool, paySource, nil)
	if _, err := l.store(t.Context(), prepareAll(paySource, []rabbit.Delivery{delivery("a", arrival)}), arrival); err != nil {
		t.Fatal(err)
	}
	l.close()
	l = open(t, pool, paySource, nil)
	defer l.close()
	for _, tt := range []struct {
		after time.Duration
		left  int
	}{{doubtFor - time.Second, 1}, {doubtFor + time.Second, 0}} {
		if err := l.forgive(t.Context(), l.lookedAt.Add(tt.after)); err != nil {
			t.Fatal(err)
		}
		if n := number(t, pool, "SELECT count(*) FROM receipts"); n != tt.left {
			t.Errorf("%d receipts after %v, want %d", n, tt.after, tt.left)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	q := rabbit.QueueFacts{DeadLetterExchange: pointer("dlx"), MessageTTL: pointer[int64](1), Consumers: 2, DeliveryLimit: pointer[int64](20)}
	if got, want := warningsOf(q), []string{WarnDeadLetters, WarnTTL, WarnOtherConsumers}; !slices.Equal(got, want) {
		t.Errorf("warnings %v, want %v", got, want)
	}
	q = rabbit.QueueFacts{Consumers: 1, DeliveryLimit: pointer[int64](20)}
	if got, want := warningsOf(q), []string{WarnDeliveryLimit}; !slices.Equal(got, want) {
		t.Errorf("warnings %v, want %v", got, want)
	}
	if got := warningsOf(rabbit.QueueFacts{Consumers: 1, DeliveryLimit: pointer[int64](-1)}); got != nil {
		t.Errorf("warnings %v, want none", got)
	}
}

// What this process knows to be acked is forgotten before anything comes in.
func TestReceiptsOfAckedWindowsAreForgottenAtTheNextStart(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	l := open(t, pool, paySource, nil)
	b, err := l.store(t.Context(), prepareAll(paySource, []rabbit.Delivery{delivery("a", arrival)}), arrival)
	l.close()
	if err != nil {
		t.Fatal(err)
	}
	d := NewDrain(DrainOptions{Source: paySource})
	d.owe(b.window)
	l, err = openLedger(t.Context(), pool, paySource, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if err := l.begin(t.Context(), d.owed(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if n := number(t, pool, "SELECT count(*) FROM receipts"); n != 0 || l.doubt != 0 {
		t.Errorf("%d receipts, %d in doubt; want none", n, l.doubt)
	}
}

func TestHeadersThatCannotBeEncodedAreQuarantined(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	deep := rabbit.Table{}
	for range 18_000 { // what fits into a frame
		deep = rabbit.Table{"a": deep}
	}
	all := put(t, pool, paySource,
		rabbit.Delivery{Headers: deep, Body: []byte("a")},
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
	if n := number(t, pool, "SELECT count(*) FROM lives WHERE headers_raw IS NOT NULL"); n != 2 {
		t.Errorf("the headers of %d messages are kept in another form, want 2", n)
	}
}

// jsonb has limits of its own; the headers are kept as bytes then.
func TestHeadersThatJSONBRefusesAreKept(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	exec(t, pool, `ALTER TABLE lives ADD CONSTRAINT small CHECK (length(headers::text) < 1000)`)
	d := delivery("a", arrival)
	d.Headers["large"] = strings.Repeat("x", 2000)
	put(t, pool, paySource, d)
	var id, why string
	if err := pool.QueryRow(t.Context(), "SELECT id::text, quarantine FROM dead_letters").Scan(&id, &why); err != nil {
		t.Fatal(err)
	}
	life, err := NewStore(pool).Life(t.Context(), id, 0)
	if err != nil || life.Headers["large"] != d.Headers["large"] || why == "" {
		t.Errorf("%d headers (%v), quarantine %q", len(life.Headers), err, why)
	}
}

func TestTroubleSaysWhatIsNotDoneAndWhatToDo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		want SourceState
		says string
	}{
		"paused":    {errPaused, SourcePaused, ""},
		"elsewhere": {errElsewhere, SourceUp, "another console"},
		"Postgres":  {storeError{errors.New("disk full")}, SourceBlocked, "stay on the broker"},
		"missing":   {fmt.Errorf("x: %w", rabbit.ErrQueueMissing), SourceMissing, "until it is declared"},
		"poison":    {fmt.Errorf("x: %w", rabbit.ErrPoison), SourceDown, "take it off"},
		"down":      {fmt.Errorf("x: %w", rabbit.ErrUnavailable), SourceDown, "tried again"},
	} {
		got := troubleOf(tt.err, paySource)
		if got.state != tt.want || !strings.Contains(got.why, tt.says) || got.quickest <= 0 || got.slowest < got.quickest {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestBackoffGrowsToItsBoundAndNoFurther(t *testing.T) {
	t.Parallel()
	var b backoff
	for i, top := range []time.Duration{1, 2, 4, 8, 10, 10, 10} {
		wait := b.next(time.Second, 10*time.Second)
		if wait < top*time.Second/2 || wait > top*time.Second {
			t.Errorf("wait %d is %v, want between %v and %v", i, wait, top*time.Second/2, top*time.Second)
		}
	}
	for range 100 {
		b.next(time.Second, 10*time.Second)
	}
	if wait := b.next(time.Second, 10*time.Second); wait > 10*time.Second {
		t.Errorf("after a long time %v", wait)
	}
	b.reset()
	if wait := b.next(time.Second, 10*time.Second); wait > time.Second {
		t.Errorf("after the reset %v", wait)
	}
}

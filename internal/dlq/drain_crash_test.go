package dlq

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

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
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		publish(t, v, "twin", "twin", "single", "later")
		crash(t, pool, v, 3)
		publish(t, v, "twin") // a third one, that was never delivered

		running(t, DrainOptions{URL: v.URL, Pool: pool})

		untilStored(t, pool, 5, 0)
		untilSettled(t, pool, v)
		if n := number(t, pool, "SELECT count(*) FROM dead_letters WHERE body_preview = 'twin'"); n != 3 {
			t.Errorf("%d twins, want 3", n)
		}
		if n := number(t, pool, "SELECT coalesce(sum(outstanding), 0) FROM windows"); n != 0 {
			t.Errorf("%d receipts are left, want none", n)
		}
	})
}

// The second crash comes before the first one's window is settled. Nothing is
// lost, and what cannot be told apart is marked.
func TestKilledAgainWhileLookingMarksTheSurplus(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		publish(t, v, "a", "b")
		crash(t, pool, v, 2)
		// Another console looks, and dies before it has stored anything.
		open(t, pool, paySource, nil).close()

		running(t, DrainOptions{URL: v.URL, Pool: pool})

		untilStored(t, pool, 4, 2)
		untilSettled(t, pool, v)
	})
}

// The receipts pass on from window to window, however often it crashes there.
func TestKilledTwiceBetweenCommitAndAck(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
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
	})
}

// basicAck is how the ack of a window begins on the wire: class and method.
var basicAck = []byte{0, 60, 0, 80}

func TestConnectionLostAfterTheBrokerHeardTheAck(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
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
	})
}

// A drain that loses its connection again and again loses no message, and what
// it stores too often it marks.
func TestConnectionsCutAgainAndAgain(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		address, broker := through(t, v.URL)
		behind, postgres := poolThrough(t, pool)
		const kinds, each = 150, 4
		var bodies []string
		for range each {
			for k := range kinds {
				bodies = append(bodies, fmt.Sprintf("body %d", k))
			}
		}
		publish(t, v, bodies...)
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
	})
}

func TestPostgresDownLosesNothing(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
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
	})
}

func TestCommitWhoseResultIsUnknown(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		behind, proxy := poolThrough(t, pool)
		d, _ := running(t, DrainOptions{URL: v.URL, Pool: behind})
		untilState(t, d, SourceUp)
		// The window's own transaction, not one of the drain's small ones.
		exec(t, pool, `CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END $$;
		CREATE TRIGGER slowly AFTER INSERT ON windows FOR EACH STATEMENT EXECUTE FUNCTION slowly()`)
		publish(t, v, "a", "a")
		poll.Until(t, patience, func() error {
			n, err := numberOrError(t.Context(), pool, "SELECT count(*) FROM pg_locks WHERE relation = 'windows'::regclass AND mode = 'RowExclusiveLock' AND pid <> pg_backend_pid()")
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
	})
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
		if n := number(t, pool, "SELECT coalesce(sum(outstanding), 0) FROM windows"); n != tt.left {
			t.Errorf("%d receipts after %v, want %d", n, tt.after, tt.left)
		}
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
	l = lock(t, pool, paySource, nil)
	defer l.close()
	if err := l.begin(t.Context(), d.owed(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if n := number(t, pool, "SELECT coalesce(sum(outstanding), 0) FROM windows"); n != 0 || l.doubt != 0 {
		t.Errorf("%d receipts, %d in doubt; want none", n, l.doubt)
	}
}

package dlq

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// fewDeliveries is a delivery limit that leaves room for what cannot be helped:
// one window was out when the store failed. A message given back more often is gone.
const fewDeliveries = 2

// budgeted returns a broker whose terminal queue drops what is delivered often.
func budgeted(t *testing.T) *rabbittest.Vhost {
	t.Helper()
	v := rabbittest.New(t)
	v.Queue(t, paySource.Queue, rabbit.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(fewDeliveries)})
	return v
}

// tryAgain makes the drain try more often than the delivery limit allows, without
// the rests that it takes.
func tryAgain(t *testing.T, d *Drain) {
	t.Helper()
	for range 5 * fewDeliveries {
		select {
		case d.wake <- struct{}{}:
		case <-time.After(patience):
			t.Fatal("the drain tries no more")
		}
	}
}

// asRole makes a role of the server that may do all in pool's schema, and returns
// its name and a pool that connects as it.
func asRole(t *testing.T, pool *pgxpool.Pool) (role string, as *pgxpool.Pool) {
	t.Helper()
	role = strings.ToLower(strings.ReplaceAll("role_"+time.Now().Format("150405.000000000"), ".", "_"))
	owner := pool.Config().ConnConfig.User
	exec(t, pool, "CREATE ROLE "+role+" LOGIN PASSWORD 'pw' IN ROLE "+owner)
	u, err := url.Parse(pgtest.URL(pool))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "pw")
	as, err = pgxpool.New(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		as.Close()
		if _, err := pool.Exec(context.WithoutCancel(t.Context()), "DROP ROLE "+role); err != nil {
			t.Errorf("drop role: %v", err)
		}
	})
	return role, as
}

// Each way in which Postgres can refuse: the sentence names it, nothing is lost
// or stored twice, no message's deliveries are used up, another source goes on,
// and the drain recovers by itself.
func TestPostgresRefuses(t *testing.T) {
	t.Parallel()
	const sleepy = `CREATE FUNCTION sleepy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1); RETURN NULL; END $$;
		CREATE TRIGGER sleepy BEFORE INSERT ON lives FOR EACH STATEMENT WHEN (current_user = '{role}') EXECUTE FUNCTION sleepy()`
	for name, tt := range map[string]struct {
		begin, end string // {role} is the drain's role
		says       string
	}{
		"read-only":               {"ALTER ROLE {role} SET default_transaction_read_only = on", "ALTER ROLE {role} RESET default_transaction_read_only", "is read-only"},
		"too many connections":    {"ALTER ROLE {role} CONNECTION LIMIT 0", "ALTER ROLE {role} CONNECTION LIMIT -1", "too many connections"},
		"may not log in":          {"ALTER ROLE {role} NOLOGIN", "ALTER ROLE {role} LOGIN", "refuses the console's role"},
		"statement timeout":       {"ALTER ROLE {role} SET statement_timeout = '300ms'; " + sleepy, "DROP TRIGGER sleepy ON lives", "statement_timeout"},
		"statement timeout, late": {"ALTER ROLE {role} SET statement_timeout = '300ms'; " + strings.ReplaceAll(sleepy, "ON lives", "ON windows"), "DROP TRIGGER sleepy ON windows", "statement_timeout"},
		"full disk": {
			`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
			CREATE TRIGGER full_disk BEFORE INSERT ON windows FOR EACH STATEMENT WHEN (current_user = '{role}') EXECUTE FUNCTION full_disk()`,
			"DROP TRIGGER full_disk ON windows", "no room left on its disk",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, v := pgtest.New(t), budgeted(t)
			role, as := asRole(t, pool)
			goesOn := bystander(t, pool, v)
			d, _ := running(t, DrainOptions{URL: v.URL, Pool: as})
			untilState(t, d, SourceUp)

			exec(t, pool, strings.ReplaceAll(tt.begin, "{role}", role))
			failOver(t, pool, role)
			publish(t, v, "a", "b", "b")
			untilSaid(t, d, SourceBlocked, "Postgres", tt.says, "stay on the broker")
			tryAgain(t, d)
			untilSaid(t, d, SourceBlocked, tt.says)
			poll.True(t, patience, "all messages are on the broker", func() bool { return v.Depth(t, paySource.Queue) == 3 })
			goesOn()

			exec(t, pool, strings.ReplaceAll(tt.end, "{role}", role))
			d.hurry()
			untilStoredOf(t, pool, paySource, 3)
			untilSettled(t, pool, v)
			untilState(t, d, SourceUp)
			if n := number(t, pool, "SELECT count(*) FROM dead_letters WHERE possible_copy"); n != 0 {
				t.Errorf("%d are marked as possible copies, want none", n)
			}
		})
	}
}

// failOver ends a role's sessions as a server does that shuts down (57P01).
func failOver(t *testing.T, pool *pgxpool.Pool, role string) {
	t.Helper()
	exec(t, pool, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", role)
}

// Rows that somebody holds locked for longer than the role's lock_timeout.
func TestRowsAreLocked(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), budgeted(t)
	role, as := asRole(t, pool)
	exec(t, pool, "ALTER ROLE "+role+" SET lock_timeout = '100ms'")
	d, _ := running(t, DrainOptions{URL: v.URL, Pool: as})
	untilState(t, d, SourceUp)
	held, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Rollback(t.Context())
	if _, err := held.Exec(t.Context(), "LOCK TABLE windows IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	publish(t, v, "a", "b", "b")
	untilSaid(t, d, SourceBlocked, "locked for longer than lock_timeout")
	tryAgain(t, d)
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.hurry()
	untilStored(t, pool, 3, 0)
	untilSettled(t, pool, v)
	untilState(t, d, SourceUp)
}

// Sessions end again and again while messages come; at the end each is stored
// once. A twin that was given back may be marked as a copy.
func TestPostgresFailsOverAgainAndAgain(t *testing.T) {
	onEachKind(t, func(t *testing.T, pool *pgxpool.Pool, v *rabbittest.Vhost) {
		role, as := asRole(t, pool)
		d, _ := running(t, DrainOptions{URL: v.URL, Pool: as})
		untilState(t, d, SourceUp)
		n := 0
		for range 8 {
			publish(t, v, "twin", "twin", "twin")
			n += 3
			failOver(t, pool, role)
			d.hurry()
		}
		poll.Until(t, patience, func() error {
			stored, err := numberOrError(t.Context(), pool, "SELECT count(*) FROM dead_letters")
			if err == nil && stored != n {
				err = fmt.Errorf("%d messages are stored, want %d", stored, n)
			}
			return err
		})
		untilQuiet(t, pool, v)
		untilState(t, d, SourceUp)
	})
}

// A Postgres that takes connections and answers nothing costs one window's
// deliveries, and is noticed.
func TestPostgresHangs(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), budgeted(t)
	behind, proxy := poolThrough(t, pool)
	goesOn := bystander(t, pool, v)
	d, _ := running(t, DrainOptions{URL: v.URL, Pool: behind})
	untilState(t, d, SourceUp)
	proxy.Hold(true)
	publish(t, v, "a", "b", "b")
	goesOn()
	untilSaid(t, d, SourceBlocked, "Postgres", "took too long", "stay on the broker")
	poll.True(t, patience, "all messages are on the broker", func() bool { return v.Depth(t, paySource.Queue) == 3 })
	proxy.Hold(false)
	untilStoredOf(t, pool, paySource, 3)
	untilSettled(t, pool, v)
	untilState(t, d, SourceUp)
}

// A store that takes little at a time is fed so, once it has refused more: the
// rehearsals find out how much, and the windows after that grow again.
func TestStoreThatTakesLittleAtATime(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), budgeted(t)
	const most, all = 60, 600
	exec(t, pool, fmt.Sprintf(`CREATE FUNCTION small() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF length(NEW.message_ids) > %d * 16 AND NOT EXISTS (SELECT FROM windows) THEN RAISE EXCEPTION 'too much' USING ERRCODE = 'query_canceled'; END IF;
			RETURN NEW; END $$;
		CREATE TRIGGER small BEFORE INSERT ON windows FOR EACH ROW EXECUTE FUNCTION small()`, most))
	bodies := make([]string, all)
	for i := range bodies {
		bodies[i] = strings.Repeat("x", i)
	}
	publish(t, v, bodies...)
	d, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})
	untilStored(t, pool, all, 0)
	untilSettled(t, pool, v)
	untilState(t, d, SourceUp)
	if n := number(t, pool, "SELECT length(message_ids) / 16 FROM windows ORDER BY drained_at LIMIT 1"); n > most {
		t.Errorf("the first window that was taken has %d messages, and the store takes %d at most", n, most)
	}
	if n := number(t, pool, "SELECT max(length(message_ids)) / 16 FROM windows"); n <= most {
		t.Errorf("the largest window has %d messages, want that they grow again", n)
	}
}

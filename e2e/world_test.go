package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/redistest"
)

const (
	workQueue     = "q.pay.success"
	terminalQueue = "q.pay.dlx.terminal"
	// tiers are the articles' wait times, shortened.
	tiers = "200ms,300ms,400ms"
	// stuckAfter is the limit of the key space, long enough to see a key that is
	// younger than it after the whole ladder.
	stuckAfter = 6 * time.Second
)

// world is a payment system of one test's own, with nothing of it running yet.
type world struct {
	broker   *rabbittest.Vhost
	redis    *redistest.Server // of its own, so that the test can take it away
	business *pgxpool.Pool
	store    *pgxpool.Pool // the console's database
	env      []string      // how paydemo finds them
}

// newWorld declares the topology and creates the business tables.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		broker: rabbittest.New(t), redis: redistest.Private(t), business: pgtest.Empty(t), store: pgtest.Empty(t),
	}
	w.env = []string{
		"DLO_POSTGRES_URL=" + pgtest.URL(w.business), "DLO_AMQP_URL=" + w.broker.URL, "DLO_REDIS_URL=" + w.redis.URL,
	}
	w.paydemo(t, "topology", "-tiers", tiers)
	return w
}

// paydemo runs one command of the payment system to its end.
func (w *world) paydemo(t *testing.T, args ...string) string {
	t.Helper()
	return mustRun(t, w.env, "paydemo", args...)
}

// consume starts a consumer, with the flags given beside its usual ones.
func (w *world) consume(t *testing.T, flags ...string) *process {
	t.Helper()
	return start(t, w.env, "paydemo", append([]string{"consume", "-tiers", tiers}, flags...)...)
}

// pay makes an order and sends its message.
func (w *world) pay(t *testing.T, order string, flags ...string) {
	t.Helper()
	w.paydemo(t, append([]string{"produce", "-count", "1", "-order", order, "-amount", "199.00", "-user", "10086"}, flags...)...)
}

// config is a console for this world; the space's style is the consumer's.
func (w *world) config(style string) string {
	const form = `
database: {url: %q}
redis: {urls: [%q]}
brokers: [{name: pay, url: %q, management_url: %q}]
sources:
  - name: pay-success
    broker: pay
    queue: q.pay.dlx.terminal
    business_key: [{body: "$.orderNo"}]
    idempotency_keys: [{space: pay-success}]
    guards:
      - {name: order state, kind: state, database: orders, query: "select status from t_order where order_no = $1", from: [INIT], done: [PAID, SETTLED]}
      - {name: account flow, kind: effect, database: orders, query: "select 1 from t_account_flow where biz_no = $1 and type = 'PAY_DEDUCT'"}
key_spaces: [{name: pay-success, pattern: "mq:consumed:pay_success:{business_key}", style: %s, ttl: 24h, stuck_after: %s}]
business_databases: [{name: orders, url: %q}]
`
	return fmt.Sprintf(form, pgtest.URL(w.store), w.redis.URL, w.broker.URL, w.broker.ManagementURL, style, stuckAfter, pgtest.URL(w.business))
}

// console migrates, serves and waits until it is ready.
func (w *world) console(t *testing.T, style string) *console {
	t.Helper()
	mustRun(t, []string{"DLO_DATABASE_URL=" + pgtest.URL(w.store)}, "console", "migrate")
	c := startConsole(t, w.config(style))
	c.awaitReady(t)
	return c
}

// status is an order's status in the business database.
func (w *world) status(t *testing.T, order string) string {
	t.Helper()
	var status string
	err := w.business.QueryRow(t.Context(), "SELECT status FROM t_order WHERE order_no = $1", order).Scan(&status)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatal(err)
	}
	return status
}

// charges is how often an order was charged.
func (w *world) charges(t *testing.T, order string) int {
	t.Helper()
	return w.count(t, "SELECT count(*) FROM t_account_flow WHERE biz_no = $1 AND type = 'PAY_DEDUCT'", order)
}

func (w *world) count(t *testing.T, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := w.business.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// awaitPaid waits until an order is PAID.
func (w *world) awaitPaid(t *testing.T, order string) {
	t.Helper()
	poll.Until(t, soon, func() error {
		if got := w.status(t, order); got != "PAID" {
			return fmt.Errorf("order %s is %q, want PAID", order, got)
		}
		return nil
	})
}

// awaitDead waits until the console has an order's dead letter in a state that
// the condition accepts, and returns it.
func (w *world) awaitDead(t *testing.T, c *console, order string, condition func(message) error) message {
	t.Helper()
	var found message
	poll.Until(t, soon, func() error {
		m := c.dead(t, order)
		if m == nil {
			return fmt.Errorf("%s has no dead letter", order)
		}
		found = *m
		return condition(found)
	})
	return found
}

func isOpen(m message) error { return inState(m, "open") }

func isResolved(m message) error { return inState(m, "resolved") }

func inState(m message, want string) error {
	if m.State != want {
		return fmt.Errorf("message %s is %s in round %d, want %s", m.ID, m.State, m.Round, want)
	}
	return nil
}

// awaitOutcome waits until the newest attempt of a replay has an outcome that
// is settled, and returns it.
func (c *console) awaitOutcome(t *testing.T, replayID string) replayItem {
	t.Helper()
	var item replayItem
	poll.Until(t, soon, func() error {
		var list struct {
			Items []replayItem `json:"items"`
		}
		c.get(t, "/replays/"+replayID+"/items", &list)
		if len(list.Items) != 1 {
			return fmt.Errorf("replay %s has %d items, want 1", replayID, len(list.Items))
		}
		item = list.Items[0]
		if item.Outcome == nil || *item.Outcome == "awaited" {
			return fmt.Errorf("replay %s: attempt %s, outcome still open", replayID, item.Attempt)
		}
		return nil
	})
	return item
}

// replay sends a message back and waits for its outcome.
func (c *console) replay(t *testing.T, id string, body map[string]any) replayItem {
	t.Helper()
	var answer replayAnswer
	c.post(t, "/messages/"+id+"/replay", body, http.StatusOK, &answer)
	if answer.Attempt != "sent" {
		t.Fatalf("replay of %s: attempt %s: %s", id, answer.Attempt, answer.Detail)
	}
	return c.awaitOutcome(t, answer.ReplayID)
}

// refuses expects that the API answers a request with status and code.
func (c *console) refuses(t *testing.T, path string, body any, status int, code string) {
	t.Helper()
	var p problem
	c.post(t, path, body, status, &p)
	if p.Code != code {
		t.Errorf("POST %s: code %q (%s), want %q", path, p.Code, p.Detail, code)
	}
}

func (c *console) preflight(t *testing.T, id string) preflight {
	t.Helper()
	var p preflight
	c.get(t, "/messages/"+id+"/preflight", &p)
	return p
}

// keyOf is the idempotency key of an order.
func keyOf(order string) string { return "mq:consumed:pay_success:" + order }

// checkBooks proves the invariants of money at the end: each order that is
// paid was charged once, balances are the sums of their flows, and every order
// is in one place: paid, an open or discarded dead letter, and nowhere twice.
func (w *world) checkBooks(t *testing.T, c *console) {
	t.Helper()
	if n := w.count(t, `
		SELECT count(*) FROM t_order o WHERE status = 'PAID' AND 1 <>
			(SELECT count(*) FROM t_account_flow f WHERE f.biz_no = o.order_no AND f.type = 'PAY_DEDUCT')`); n != 0 {
		t.Errorf("%d paid orders were not charged exactly once", n)
	}
	if n := w.count(t, `
		SELECT count(*) FROM t_account a WHERE balance <>
			(SELECT coalesce(sum(amount), 0) FROM t_account_flow f WHERE f.user_id = a.user_id)`); n != 0 {
		t.Errorf("%d balances are not the sum of their flows", n)
	}
	orders, err := w.business.Query(t.Context(), "SELECT order_no, status FROM t_order ORDER BY order_no")
	if err != nil {
		t.Fatal(err)
	}
	type order struct{ No, Status string }
	all, err := pgx.CollectRows(orders, pgx.RowToStructByPos[order])
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		w.checkPlace(t, c.dead(t, o.No), o.No, o.Status)
	}
}

// checkPlace proves that an order is paid, or dead and not forgotten.
func (w *world) checkPlace(t *testing.T, m *message, order, status string) {
	t.Helper()
	paid := status == "PAID"
	switch {
	case m == nil && !paid:
		t.Errorf("order %s is %s and has no dead letter: it is lost", order, status)
	case m != nil && m.State == "resolved" && !paid:
		t.Errorf("order %s is %s and its dead letter is resolved: that claims what is not so", order, status)
	case m != nil && (m.State == "replaying" || m.State == "replayed"):
		t.Errorf("order %s is still %s", order, m.State)
	case m != nil && m.PossibleCopy:
		t.Errorf("order %s is marked as a possible copy, and nothing was copied", order)
	}
}

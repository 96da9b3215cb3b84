package dlq

import (
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// deliveryLimit is what a quorum queue has of itself from RabbitMQ 4.0 on. A
// message given back more often than that is deleted.
const deliveryLimit = 20

// A store that can be read and not written to, as with a full disk, lets the
// drain begin again and again; each window that it gives back counts.
func TestStoreThatTakesNothingCostsNoMessageItsDeliveries(t *testing.T) {
	t.Parallel()
	pool, v := pgtest.New(t), rabbittest.New(t)
	v.Queue(t, paySource.Queue, rabbit.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(deliveryLimit)})
	exec(t, pool, `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON lives FOR EACH STATEMENT EXECUTE FUNCTION fail()`)
	publish(t, v, "a", "b", "b")

	d, _ := running(t, DrainOptions{URL: v.URL, Pool: pool})
	untilState(t, d, SourceBlocked)
	for range 2 * deliveryLimit {
		select {
		case d.wake <- struct{}{}: // no rest between two tries
		case <-time.After(patience):
			t.Fatal("the drain tries no more")
		}
	}
	untilState(t, d, SourceBlocked)
	exec(t, pool, "DROP TRIGGER fail ON lives")
	d.hurry()

	untilStored(t, pool, 3, 0)
	untilSettled(t, pool, v)
}

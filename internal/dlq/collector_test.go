package dlq

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

func TestCollectorTellsWhatWasReadAndAsksNobody(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	put(t, pool, paySource, delivery("a", arrival), delivery("b", arrival.Add(-time.Hour)))
	exec(t, pool, "UPDATE dead_letters SET quarantine = 'x' WHERE body_preview = 'a'")
	c := NewCollector(NewStore(pool), func() []SourceStatus {
		return []SourceStatus{
			{Name: "pay", Ready: new(int64(3)), Unacked: new(int64(4))},
			{Name: "quiet"},
		}
	})
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	c.refresh(t.Context())
	pool.Close()

	want := fmt.Sprintf(`
# HELP dlo_depth_messages Open messages and those still on the broker.
# TYPE dlo_depth_messages gauge
dlo_depth_messages{source="pay"} 9
dlo_depth_messages{source="quiet"} 0
# HELP dlo_oldest_open_timestamp_seconds When the longest open message died; absent where none is open.
# TYPE dlo_oldest_open_timestamp_seconds gauge
dlo_oldest_open_timestamp_seconds{source="pay"} %v
# HELP dlo_open_messages Open messages in the store.
# TYPE dlo_open_messages gauge
dlo_open_messages{source="pay"} 2
dlo_open_messages{source="quiet"} 0
# HELP dlo_quarantined_messages Open messages that are kept in quarantine.
# TYPE dlo_quarantined_messages gauge
dlo_quarantined_messages{source="pay"} 1
dlo_quarantined_messages{source="quiet"} 0
# HELP dlo_queue_messages Messages still on the broker; unacked is what the drain holds where no management URL is given.
# TYPE dlo_queue_messages gauge
dlo_queue_messages{source="pay",state="ready"} 3
dlo_queue_messages{source="pay",state="unacked"} 4
`, float64(arrival.Add(-time.Hour).Unix()))
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Errorf("metrics: %v %v", problems, err)
	}

	// A reading that is old is none.
	c.readAt = c.readAt.Add(-2 * staleAfter)
	if n := testutil.CollectAndCount(c); n != 2 {
		t.Errorf("%d samples, want the broker's two", n)
	}
}

package dlq

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// collectEvery is how often the store is read for metrics.
	collectEvery = 5 * time.Second
	// staleAfter is when a reading says nothing any more: no sample is better
	// than an old one, for rules have a state for it.
	staleAfter = time.Minute
)

// Collector offers what is stored and queued as metrics. A scrape reads what
// Run has read before and asks nobody.
type Collector struct {
	store    *Store
	statuses func() []SourceStatus

	mu      sync.Mutex
	figures map[string]SourceFigures
	readAt  time.Time

	open, queued, depth, oldest, quarantined *prometheus.Desc
}

// NewCollector returns a collector over store and the drains' statuses; the
// caller registers it.
func NewCollector(store *Store, statuses func() []SourceStatus) *Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"source"}, labels...), nil)
	}
	return &Collector{
		store: store, statuses: statuses,
		open:        desc("dlo_open_messages", "Open messages in the store."),
		queued:      desc("dlo_queue_messages", "Messages still on the broker; unacked is what the drain holds where no management URL is given.", "state"),
		depth:       desc("dlo_depth_messages", "Open messages and those still on the broker."),
		oldest:      desc("dlo_oldest_open_timestamp_seconds", "When the longest open message died; absent where none is open."),
		quarantined: desc("dlo_quarantined_messages", "Open messages that are kept in quarantine."),
	}
}

// Run reads the store until ctx ends, and then returns nil. While the store
// does not answer the samples go on for a minute, and then cease.
func (c *Collector) Run(ctx context.Context) error {
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	for {
		c.refresh(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (c *Collector) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	figures, err := c.store.OpenCounts(ctx)
	if err != nil {
		return // the drains say that Postgres does not answer; the samples cease
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.figures, c.readAt = figures, time.Now()
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.open, c.queued, c.depth, c.oldest, c.quarantined} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	figures, fresh := c.figures, time.Since(c.readAt) < staleAfter
	c.mu.Unlock()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, s := range c.statuses() {
		f := figures[s.Name]
		depth := f.Open
		for state, n := range map[string]*int64{"ready": s.Ready, "unacked": s.Unacked} {
			if n != nil {
				gauge(c.queued, float64(*n), s.Name, state)
				depth += *n
			}
		}
		if !fresh {
			continue
		}
		gauge(c.open, float64(f.Open), s.Name)
		gauge(c.quarantined, float64(f.Quarantined), s.Name)
		// With the broker down this is what is known of the depth; that the rest
		// is not known is for the rule about stalled drains to say.
		gauge(c.depth, float64(depth), s.Name)
		if !f.OldestOpen.IsZero() {
			gauge(c.oldest, float64(f.OldestOpen.UnixMilli())/1000, s.Name)
		}
	}
}

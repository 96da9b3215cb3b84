package replay

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// Metrics counts replays, outcomes and releases.
type Metrics struct {
	sources  map[string]bool
	replayed *prometheus.CounterVec
	outcomes *prometheus.CounterVec
	releases *prometheus.CounterVec
	reports  prometheus.Gauge
	junk     prometheus.Counter
}

// NewMetrics registers the counters with reg, each series at 0 from the start,
// so that a rate sees the first one.
func NewMetrics(reg prometheus.Registerer, sources, spaces []string) *Metrics {
	m := &Metrics{
		sources: map[string]bool{},
		replayed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dlo_replayed_messages_total",
			Help: "Replayed messages by what became of the attempt.",
		}, []string{"source", "result"}),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dlo_replay_outcomes_total",
			Help: "Outcomes of sent attempts; one that is corrected later is counted again.",
		}, []string{"source", "outcome"}),
		releases: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dlo_key_releases_total",
			Help: "Releases of idempotency keys that were tried, by result.",
		}, []string{"space", "result"}),
		reports: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "dlo_outcome_reports_up",
			Help: "1 while consumers' reports can be read and taken, 0 while they cannot; 1 where no Redis is configured.",
		}),
		junk: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dlo_outcome_reports_malformed_total",
			Help: "Entries of the stream of reports that were none.",
		}),
	}
	for _, source := range sources {
		m.sources[source] = true
		for _, a := range AttemptStates {
			if a != Waiting {
				m.replayed.WithLabelValues(source, string(a))
			}
		}
		for _, o := range Outcomes {
			if o != Awaited {
				m.outcomes.WithLabelValues(source, string(o))
			}
		}
	}
	for _, space := range spaces {
		for _, r := range keys.ReleaseResults {
			m.releases.WithLabelValues(space, string(r))
		}
	}
	reg.MustRegister(m.replayed, m.outcomes, m.releases, m.reports, m.junk)
	return m
}

func (m *Metrics) reportsUp(up bool) {
	if m == nil {
		return
	}
	m.reports.Set(0)
	if up {
		m.reports.Set(1)
	}
}

func (m *Metrics) countMalformed(n int64) {
	if m != nil {
		m.junk.Add(float64(n))
	}
}

// countAttempt counts what became of an attempt. A source that is configured
// no longer has no series.
func (m *Metrics) countAttempt(source string, a AttemptState) {
	if m != nil && m.sources[source] {
		m.replayed.WithLabelValues(source, string(a)).Inc()
	}
}

func (m *Metrics) countOutcome(source string, o Outcome) {
	if m != nil && m.sources[source] && o != Awaited {
		m.outcomes.WithLabelValues(source, string(o)).Inc()
	}
}

func (m *Metrics) countRelease(space string, r keys.ReleaseResult) {
	if m != nil {
		m.releases.WithLabelValues(space, string(r)).Inc()
	}
}

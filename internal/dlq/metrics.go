package dlq

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what the drains do. A nil *Metrics counts nothing.
type Metrics struct {
	messages *prometheus.CounterVec
	running  *prometheus.GaugeVec
	last     *prometheus.GaugeVec
	duration prometheus.Histogram
}

// NewMetrics registers the drains' metrics, all of them at 0.
func NewMetrics(reg prometheus.Registerer, sources []string) *Metrics {
	m := &Metrics{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dlo_drained_messages_total",
			Help: "Deaths brought from a terminal queue into the store, by the broker's reason.",
		}, []string{"source", "reason"}),
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "dlo_drain_up",
			Help: "Whether the source is being drained (1) or paused, blocked, down or missing (0).",
		}, []string{"source"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "dlo_drain_last_success_timestamp_seconds",
			Help: "When this console last stored messages of the source; 0: not since it started.",
		}, []string{"source"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "dlo_drain_batch_duration_seconds",
			Help:    "How long it took from having a window of messages to having it committed.",
			Buckets: prometheus.ExponentialBuckets(0.002, 2.5, 11),
		}),
	}
	reg.MustRegister(m.messages, m.running, m.last, m.duration)
	for _, s := range sources {
		m.running.WithLabelValues(s).Set(0)
		m.last.WithLabelValues(s).Set(0)
		for _, r := range Reasons {
			m.messages.WithLabelValues(s, string(r)).Add(0)
		}
	}
	return m
}

func (m *Metrics) drained(source string, r Reason) {
	if m != nil {
		m.messages.WithLabelValues(source, string(r)).Inc()
	}
}

func (m *Metrics) up(source string, up bool) {
	if m == nil {
		return
	}
	value := 0.0
	if up {
		value = 1
	}
	m.running.WithLabelValues(source).Set(value)
}

func (m *Metrics) batch(source string, at time.Time, took time.Duration) {
	if m != nil {
		m.last.WithLabelValues(source).Set(float64(at.UnixMilli()) / 1000)
		m.duration.Observe(took.Seconds())
	}
}

package guard

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// keyGuard is the name of guard 1 in metrics and reports.
const keyGuard = "key"

// Results that guards are counted with.
const (
	checkedFirst       = "first"
	checkedDuplicate   = "duplicate"
	checkedHeld        = "held"        // the key only
	checkedRefused     = "refused"     // the handler's guards only
	checkedUnavailable = "unavailable" // the key only
)

// metrics counts what the guards answered.
type metrics struct {
	consumer string
	guards   []string
	checks   *prometheus.CounterVec
}

// newMetrics registers with reg, where there is one; consumers of one process
// share the collector. All series are there from the start, at 0.
func newMetrics(reg prometheus.Registerer, consumer string, guards []string) (*metrics, error) {
	m := &metrics{consumer: consumer, guards: guards, checks: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "dlo_guard_checks_total",
		Help: "Answers of a consumer's guards to deliveries.",
	}, []string{"consumer", "guard", "result", "replayed"})}
	if reg != nil {
		err := reg.Register(m.checks)
		if there, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
			existing, ok := there.ExistingCollector.(*prometheus.CounterVec)
			if !ok {
				return nil, fmt.Errorf("guard: register metrics: %w", err)
			}
			m.checks, err = existing, nil
		}
		if err != nil {
			return nil, fmt.Errorf("guard: register metrics: %w", err)
		}
	}
	m.initialise()
	return m, nil
}

func (m *metrics) initialise() {
	for _, replayed := range []string{"true", "false"} {
		for _, result := range []string{checkedFirst, checkedDuplicate, checkedHeld, checkedUnavailable} {
			m.checks.WithLabelValues(m.consumer, keyGuard, result, replayed)
		}
		for _, guard := range append(slices.Clone(m.guards), "other") {
			for _, result := range []string{checkedFirst, checkedDuplicate, checkedRefused} {
				m.checks.WithLabelValues(m.consumer, guard, result, replayed)
			}
		}
	}
}

func (m *metrics) count(guard, result string, replayed bool) {
	m.checks.WithLabelValues(m.consumer, guard, result, strconv.FormatBool(replayed)).Inc()
}

// passed counts all guards of the handler as passed, up to the one named; ""
// for all of them.
func (m *metrics) passed(until string, replayed bool) {
	for _, guard := range m.guards {
		if guard == until {
			return
		}
		m.count(guard, checkedFirst, replayed)
	}
}

// answered counts the answer of one guard of the handler.
func (m *metrics) answered(guard, result string, replayed bool) {
	if !slices.Contains(m.guards, guard) {
		m.count("other", result, replayed)
		return
	}
	m.passed(guard, replayed)
	m.count(guard, result, replayed)
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// bound is what a figure should not leave.
type bound struct {
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
}

func (b bound) met(v float64) bool {
	return (b.Min == nil || v >= *b.Min) && (b.Max == nil || v <= *b.Max)
}

func (b bound) String() string {
	if b.Min != nil {
		return fmt.Sprintf("≥ %g", *b.Min)
	}
	return fmt.Sprintf("≤ %g", *b.Max)
}

func atLeast(v float64) bound { return bound{Min: &v} }
func atMost(v float64) bound  { return bound{Max: &v} }

// targets are for the worst of all sizes.
var targets = map[string]bound{
	"d_over_combined":   atLeast(0.9),
	"d_over_a":          atLeast(0.65),
	"d_over_c":          atLeast(8),
	"rss_mb":            atMost(120),
	"rss_small_mb":      atMost(400),
	"rss_large_mb":      atMost(400),
	"latency_max_s":     atMost(1),
	"dead_tuples_ratio": atMost(0.01),
}

// report collects the figures. One that was not measured is not in it.
type report struct {
	about, notes []string
	sizes        []int
	figures      map[string]float64
}

func newReport(o options) *report {
	return &report{sizes: o.sizes, figures: map[string]float64{}}
}

func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// set notes a figure of a size, or of none: 0. Without the size in its name it
// is that of the size for which it is worst.
func (r *report) set(figure string, size int, v float64) {
	v = math.Round(v*1e4) / 1e4
	if size == 0 {
		r.figures[figure] = v
		return
	}
	r.figures[figure+"_"+sizeName(size)] = v
	target, ok := targets[figure]
	if !ok {
		return
	}
	if worst, ok := r.figures[figure]; !ok || (target.Min != nil) == (v < worst) {
		r.figures[figure] = v
	}
}

// runs notes how far the runs of a part were apart.
func (r *report) runs(size int, part string, perSecond []float64) {
	if len(perSecond) > 1 {
		r.note("%s, %s, each run: %.0f messages/s", sizeName(size), part, perSecond)
	}
}

// speeds notes messages a second: of the broker alone (a), the store alone (b),
// the naive consumer (c) and the console (d), and how they compare. What is 0
// was not measured.
func (r *report) speeds(size int, a, b, c, d float64) {
	combined := 1 / (1/a + 1/b) // what a and b allow together on shared cores
	for _, f := range []struct {
		name string
		v    float64
	}{
		{"broker_per_second", a},
		{"store_per_second", b},
		{"combined_per_second", combined},
		{"naive_per_second", c},
		{"drain_per_second", d},
		{"d_over_combined", d / combined},
		{"d_over_a", d / a},
		{"d_over_c", d / c},
	} {
		if f.v > 0 && !math.IsInf(f.v, 0) {
			r.set(f.name, size, f.v)
		}
	}
}

func sizeName(size int) string {
	switch {
	case size >= 1<<20 && size%(1<<20) == 0:
		return fmt.Sprintf("%dmb", size>>20)
	case size%(1<<10) == 0:
		return fmt.Sprintf("%dkb", size>>10)
	}
	return fmt.Sprintf("%db", size)
}

// write prints a table for people, and as the last line one JSON object.
func (r *report) write(w io.Writer, markdown bool) error {
	var text strings.Builder
	for _, line := range slices.Concat(r.about, r.notes) {
		fmt.Fprintf(&text, "- %s\n", line)
	}
	fmt.Fprintln(&text)
	for _, row := range r.rows() {
		if markdown {
			fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
		} else if row[0] != "---" {
			fmt.Fprintf(&text, "%-62s %s\n", row[0], strings.Join(pad(row[1:]), " "))
		}
	}
	if !markdown {
		line, err := r.line()
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "\n%s\n", line)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func pad(cells []string) []string {
	padded := make([]string, len(cells))
	for i, c := range cells {
		padded[i] = fmt.Sprintf("%12s", c)
	}
	return padded
}

// lines are the figures in words, in the order of the table.
var lines = []struct{ figure, words, format string }{
	{"broker_per_second", "a: broker alone, messages/s", "%.0f"},
	{"store_per_second", "b: store alone, messages/s", "%.0f"},
	{"combined_per_second", "a and b together, 1/(1/a + 1/b), messages/s", "%.0f"},
	{"naive_per_second", "c: one by one, messages/s", "%.0f"},
	{"drain_per_second", "d: console, messages/s", "%.0f"},
	{"d_over_combined", "d of a and b together", "%.2f"},
	{"d_over_a", "d of a", "%.2f"},
	{"d_over_c", "d of c", "%.1f"},
	{"a_client_cpu_us", "a: processor time of the consumer, µs a message", "%.0f"},
	{"a_broker_cpu_us", "a: of RabbitMQ", "%.0f"},
	{"b_client_cpu_us", "b: of the COPY's client", "%.0f"},
	{"b_postgres_cpu_us", "b: of PostgreSQL", "%.0f"},
	{"d_client_cpu_us", "d: of the console", "%.0f"},
	{"d_postgres_cpu_us", "d: of PostgreSQL", "%.0f"},
	{"d_broker_cpu_us", "d: of RabbitMQ", "%.0f"},
	{"searchable_per_second", "console until all is found by its text, messages/s", "%.0f"},
	{"dead_tuples_ratio", "dead tuples for each live one after the drain", "%.4f"},
	{"dead_bytes_ratio", "their share of the tables' bytes", "%.4f"},
	{"bytes_per_message", "tables and indexes for each message, bytes", "%.0f"},
	{"latency_median_s", "from publish to the list at an idle queue, median, s", "%.3f"},
	{"latency_max_s", "the same, the longest, s", "%.3f"},
	{"rss_mb", "memory of the console, many small messages, MB", "%.0f"},
	{"rss_small_mb", "the same, fewer, MB", "%.0f"},
	{"rss_large_mb", "the same, large ones, MB", "%.0f"},
}

// rows are the table: words, a column for each size, the target.
func (r *report) rows() [][]string {
	head, rule := []string{""}, []string{"---"}
	for _, size := range r.sizes {
		head, rule = append(head, sizeName(size)), append(rule, "---:")
	}
	rows := [][]string{append(head, "target"), append(rule, "---:")}
	for _, l := range lines {
		row, some := []string{l.words}, false
		for i, size := range r.sizes {
			v, ok := r.figures[l.figure+"_"+sizeName(size)]
			if whole, is := r.figures[l.figure]; !ok && is && i == 0 {
				v, ok = whole, true // one for all sizes
			}
			cell := ""
			if ok {
				cell, some = fmt.Sprintf(l.format, v), true
			}
			row = append(row, cell)
		}
		if some {
			rows = append(rows, append(row, r.verdict(l.figure)))
		}
	}
	return rows
}

// verdict is a figure's target and whether it is met.
func (r *report) verdict(figure string) string {
	target, ok := targets[figure]
	if !ok {
		return ""
	}
	if target.met(r.figures[figure]) {
		return target.String() + " met"
	}
	return target.String() + " missed"
}

// line is what a program reads.
func (r *report) line() ([]byte, error) {
	met := map[string]bool{}
	measured := maps.Clone(targets)
	for figure, target := range targets {
		v, ok := r.figures[figure]
		if !ok {
			delete(measured, figure)
			continue
		}
		met[figure] = target.met(v)
	}
	return json.Marshal(struct {
		Bench   string             `json:"bench"`
		Figures map[string]float64 `json:"figures"`
		Targets map[string]bound   `json:"targets"`
		Met     map[string]bool    `json:"met"`
	}{"drain", r.figures, measured, met})
}

// describe notes where the figures come from: machine, servers, durability.
func (r *report) describe(ctx context.Context, b *bench) error {
	about, err := machine(ctx)
	if err != nil {
		return err
	}
	var version, fsync, commit, pages, method, buffers string
	const sql = `
		SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'),
			current_setting('full_page_writes'), current_setting('wal_sync_method'), current_setting('shared_buffers')`
	row := b.store.conn.QueryRow(ctx, sql)
	if err := row.Scan(&version, &fsync, &commit, &pages, &method, &buffers); err != nil {
		return err
	}
	took, err := b.store.commit(ctx)
	if err != nil {
		return err
	}
	r.about = append(r.about, about,
		fmt.Sprintf("RabbitMQ %s: a durable classic queue, persistent messages", b.broker.version),
		fmt.Sprintf("PostgreSQL %s: fsync %s, synchronous_commit %s, full_page_writes %s, wal_sync_method %s, shared_buffers %s; a commit of one row takes %v",
			version, fsync, commit, pages, method, buffers, took.Round(time.Microsecond)),
		fmt.Sprintf("%d messages, %d one by one; %d runs, one fewer above 4 KB, the median counts; %s", b.count, b.options.naive, b.runs, time.Now().Format(time.DateOnly)))
	for _, line := range r.about {
		progress("%s", line)
	}
	return nil
}

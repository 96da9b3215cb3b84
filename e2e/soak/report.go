package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// bound is what a figure should not leave.
type bound struct {
	Min *int `json:"min,omitempty"`
	Max *int `json:"max,omitempty"`
}

func (b bound) met(v int) bool {
	return (b.Min == nil || v >= *b.Min) && (b.Max == nil || v <= *b.Max)
}

func atLeast(v int) bound { return bound{Min: &v} }
func atMost(v int) bound  { return bound{Max: &v} }

// report collects the verdicts.
type report struct {
	Bench   string           `json:"bench"`
	Figures map[string]int   `json:"figures"`
	Targets map[string]bound `json:"targets"`
	Met     map[string]bool  `json:"met"`
	rows    [][]string
}

func newReport(o options) *report {
	r := &report{
		Bench:   "soak-drain",
		Figures: map[string]int{"seed": int(o.seed)}, //nolint:gosec // one that was given as a small number
		Targets: map[string]bound{
			"kills": atLeast(o.kills + o.dense + o.broker + o.blackouts), "missing": atMost(0), "surplus_unmarked": atMost(0), "altered": atMost(0),
			"hits": atLeast(1),
		},
		Met:  map[string]bool{},
		rows: [][]string{{"phase", "kills", "published", "stored", "missing", "surplus", "marked", "twins marked", "altered"}},
	}
	if o.kills > 0 {
		r.Targets["single_surplus"] = atMost(0)
	}
	if o.kills+o.dense >= 50 { // with less, chance may have it that nothing comes again
		r.Targets["recognised"] = atLeast(1)
	}
	if o.broker > 0 {
		r.Targets["broker_kills"] = atLeast(o.broker)
	}
	return r
}

// add enters the verdict of a phase.
func (r *report) add(p phase, v verdict) {
	for name, n := range map[string]int{
		"kills": v.kills, "hits": v.hits, "published": v.published, "uncertain": v.uncertain, "stored": v.stored, "missing": v.missing,
		"surplus_unmarked": v.surplusUnmarked, "surplus_marked": v.surplusMarked, "twins_marked": v.marked, "altered": v.altered,
	} {
		r.Figures[name] += n
		r.Figures[p.name+"_"+name] = n
	}
	r.Figures[p.name+"_surplus"] = v.surplusUnmarked + v.surplusMarked
	row := []string{p.words}
	for _, n := range []int{v.kills, v.published, v.stored, v.missing, v.surplusUnmarked, v.surplusMarked, v.marked, v.altered} {
		row = append(row, fmt.Sprint(n))
	}
	r.rows = append(r.rows, row)
}

// recognised enters how many deliveries came again after their commit and got
// no second row: without any the run would prove nothing. A window's log holds
// them beside those that got a row.
func (r *report) recognised(ctx context.Context, w *world) error {
	const sql = `SELECT (SELECT coalesce(sum(length(fingerprints) / 32), 0) FROM windows) - (SELECT count(*) FROM lives)`
	var n int
	err := w.ask(ctx, sql, nil, &n)
	r.Figures["recognised"] = n
	return err
}

// write prints a table for people, and as the last line one JSON object. It
// says whether all targets are met.
func (r *report) write(out io.Writer, kinds map[string]int) (bool, error) {
	var text strings.Builder
	for _, row := range r.rows {
		fmt.Fprintf(&text, "%-52s", row[0])
		for _, cell := range row[1:] {
			fmt.Fprintf(&text, " %12s", cell)
		}
		fmt.Fprintln(&text)
	}
	names := []string{}
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintln(&text)
	for _, name := range names {
		fmt.Fprintf(&text, "%-52s %12d\n", name, kinds[name])
	}
	good := true
	for figure, target := range r.Targets {
		v, measured := r.Figures[figure]
		r.Met[figure] = measured && target.met(v)
		good = good && r.Met[figure]
	}
	line, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(&text, "\n%s\n", line)
	_, err = io.WriteString(out, text.String())
	return good, err
}

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The last line is for programs: what was measured, and the targets of that.
// A target is for the worst of all sizes.
func TestLastLineHoldsFiguresTargetsAndVerdicts(t *testing.T) {
	t.Parallel()
	r := newReport(options{sizes: []int{1 << 10, 10 << 10}})
	r.speeds(1<<10, 30_000, 20_000, 1_000, 12_000)
	r.speeds(10<<10, 10_000, 5_000, 0, 2_000)
	r.set("rss_mb", 0, 130)
	r.set("latency_max_s", 1<<10, 0.25)
	var out bytes.Buffer
	if err := r.write(&out, false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var got struct {
		Bench   string
		Figures map[string]float64
		Targets map[string]map[string]float64
		Met     map[string]bool
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
		t.Fatal(err)
	}
	wantMet := map[string]bool{"d_over_combined": false, "d_over_a": false, "d_over_c": true, "rss_mb": false, "latency_max_s": true}
	if diff := cmp.Diff(wantMet, got.Met); diff != "" {
		t.Errorf("met (-want +got):\n%s", diff)
	}
	for figure, want := range map[string]float64{
		"combined_per_second_1kb": 12_000, "d_over_combined_1kb": 1, "d_over_combined": 0.6, "d_over_a": 0.2, "d_over_c": 12,
	} {
		if got.Figures[figure] != want {
			t.Errorf("%s is %v, want %v", figure, got.Figures[figure], want)
		}
	}
	if got.Bench != "drain" || got.Targets["d_over_combined"]["min"] != 0.9 || got.Targets["rss_mb"]["max"] != 120 {
		t.Errorf("bench %q, targets %v", got.Bench, got.Targets)
	}
}

func TestPartsThatWereLeftOutLeaveNoFigure(t *testing.T) {
	t.Parallel()
	r := newReport(options{sizes: []int{1 << 10}})
	r.speeds(1<<10, 0, 0, 0, 12_000)
	if diff := cmp.Diff(map[string]float64{"drain_per_second_1kb": 12_000}, r.figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		all  []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(tt.all); got != tt.want {
			t.Errorf("median of %v is %v, want %v", tt.all, got, tt.want)
		}
	}
}

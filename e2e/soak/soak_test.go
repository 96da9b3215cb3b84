package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestDrainIsExactlyOnce is a short run of the program, with a console that
// ends at a data race.
func TestDrainIsExactlyOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a broker, a database and consoles")
	}
	o := options{
		seed: uint64(time.Now().UnixNano()), kills: 12, dense: 4, broker: 1, //nolint:gosec // not before 1970
		within: 5 * time.Minute, dir: os.TempDir(), race: true,
	}
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var last report
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatalf("the last line is no report: %v\n%s", err, out.String())
	}
	for _, figure := range []string{"missing", "surplus_unmarked", "altered"} {
		if last.Figures[figure] != 0 || !last.Met[figure] {
			t.Errorf("%s: %d, met: %t", figure, last.Figures[figure], last.Met[figure])
		}
	}
}

func TestVerdictTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		copies copies
		found  found
		want   verdict
	}{
		{"as published", copies{confirmed: 3}, found{all: 3}, verdict{published: 3, stored: 3}},
		{"one lost", copies{confirmed: 3}, found{all: 2}, verdict{published: 3, stored: 2, missing: 1}},
		{"one too many", copies{confirmed: 2}, found{all: 3}, verdict{published: 2, stored: 3, surplusUnmarked: 1}},
		{"one too many, and it says so", copies{confirmed: 2}, found{3, 1}, verdict{published: 2, stored: 3, surplusMarked: 1}},
		{"two too many, one says so", copies{confirmed: 2}, found{4, 1}, verdict{published: 2, stored: 4, surplusUnmarked: 1, surplusMarked: 1}},
		{"a twin looks like a copy", copies{confirmed: 3}, found{3, 1}, verdict{published: 3, stored: 3, marked: 1}},
		{"not confirmed, and there", copies{confirmed: 1, uncertain: 1}, found{all: 2}, verdict{published: 1, uncertain: 1, stored: 2}},
		{"not confirmed, and not there", copies{confirmed: 1, uncertain: 1}, found{all: 1}, verdict{published: 1, uncertain: 1, stored: 1}},
	} {
		var v verdict
		if v.count(c.copies, c.found); v != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, v, c.want)
		}
	}
}

func TestStoredRowIsComparedByteForByte(t *testing.T) {
	t.Parallel()
	number := perPhase + 7
	body := compose(1, number).body
	if got, ok := numberOf(body); !ok || got != number {
		t.Fatalf("the body says %d, %t", got, ok)
	}
	if again := compose(1, number); !bytes.Equal(again.body, body) || fmt.Sprint(again.headers) != fmt.Sprint(compose(1, number).headers) {
		t.Error("the same number made another message")
	}
	if bytes.Equal(compose(2, number).body, body) {
		t.Error("another seed made the same message")
	}
	for _, foreign := range []string{"", "soak", "soak x\n", "order 1\n"} {
		if n, ok := numberOf([]byte(foreign)); ok {
			t.Errorf("%q is taken for message %d", foreign, n)
		}
	}
}

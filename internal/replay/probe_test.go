package replay_test

import (
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

func TestProbesAnswerWhateverTheQuery(t *testing.T) {
	t.Parallel()
	state := func(query string, from, done []string) replay.Guard {
		return replay.Guard{Name: "state", Kind: replay.KindState, Database: "orders", Query: query, From: from, Done: done}
	}
	effect := func(query string) replay.Guard {
		return replay.Guard{Name: "effect", Kind: replay.KindEffect, Database: "orders", Query: query}
	}
	tests := []struct {
		name  string
		guard replay.Guard
		says  string
		value string
	}{
		{"text", state("SELECT status FROM t_order WHERE order_no = $1", []string{"INIT"}, nil), replay.SaysPasses, "INIT"},
		{"a number", state("SELECT 3 FROM t_order WHERE order_no = $1", nil, []string{"3"}), replay.SaysSkips, "3"},
		{"a decimal", state("SELECT 1.50::numeric FROM t_order WHERE order_no = $1", []string{"1.50"}, nil), replay.SaysPasses, "1.50"},
		{"padded", state("SELECT status::char(10) FROM t_order WHERE order_no = $1", []string{"INIT"}, nil), replay.SaysPasses, "INIT"},
		{"neither", state("SELECT status FROM t_order WHERE order_no = $1", []string{"NEW"}, []string{"PAID"}), replay.SaysRefuses, "INIT"},
		{"NULL", state("SELECT NULL FROM t_order WHERE order_no = $1", []string{"INIT"}, nil), replay.SaysRefuses, ""},
		{"no row", state("SELECT status FROM t_order WHERE order_no = $1 AND false", []string{"INIT"}, nil), replay.SaysRefuses, ""},
		{"a semicolon and a comment", state("SELECT status FROM t_order WHERE order_no = $1; -- the order", []string{"INIT"}, nil), replay.SaysUnknown, ""},
		{"a semicolon", state(" SELECT status FROM t_order WHERE order_no = $1 ;\n", []string{"INIT"}, nil), replay.SaysPasses, "INIT"},
		{"a comment", state("SELECT status FROM t_order WHERE order_no = $1 -- the order", []string{"INIT"}, nil), replay.SaysPasses, "INIT"},
		{"with a limit of its own", effect("SELECT 1 FROM t_order WHERE order_no = $1 LIMIT 5"), replay.SaysSkips, ""},
		{"a million rows", effect("SELECT n FROM generate_series(1, 1000000) n WHERE $1 <> ''"), replay.SaysSkips, ""},
		{"a number as the key's column", effect("SELECT 1 WHERE 7 = length($1) + 5"), replay.SaysSkips, ""},
		{"no effect", effect("SELECT 1 FROM t_account_flow WHERE biz_no = $1"), replay.SaysPasses, ""},
		{"a missing table", effect("SELECT 1 FROM nowhere WHERE x = $1"), replay.SaysUnknown, ""},
		{"a write", effect("WITH gone AS (DELETE FROM t_order WHERE order_no = $1 RETURNING 1) SELECT * FROM gone"), replay.SaysUnknown, ""},
		{"a write by a function", effect("SELECT nextval('s') WHERE $1 <> ''"), replay.SaysUnknown, ""},
		{"too slow", effect("SELECT pg_sleep(60) WHERE $1 <> ''"), replay.SaysUnknown, ""},
	}
	o := setUp(t)
	o.exec(t, o.business, "INSERT INTO t_order VALUES ('O1', 'INIT')")
	o.exec(t, o.business, "CREATE SEQUENCE s")
	id := o.add(t, letter{key: "O1"})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			options := o.options
			options.Plans = []replay.Plan{o.options.Plans[0]}
			options.Plans[0].Spaces, options.Plans[0].Guards = nil, []replay.Guard{tt.guard}
			began := time.Now()
			p, err := replay.New(options).Preflight(t.Context(), id, "")
			if err != nil || len(p.Guards) != 1 || p.Guards[0].Says != tt.says || p.Guards[0].State != tt.value {
				t.Fatalf("got %+v, %v, want %s with %q", p.Guards, err, tt.says, tt.value)
			}
			if (tt.says == replay.SaysUnknown) != (p.Verdict == replay.Unknown) || (tt.says == replay.SaysUnknown) != (p.Guards[0].Problem != "") {
				t.Errorf("verdict %s, problem %q", p.Verdict, p.Guards[0].Problem)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestBusinessDatabaseThatIsNotThereIsUnknown(t *testing.T) {
	t.Parallel()
	o := setUp(t, withProbes, func(o *replay.Options) { o.Databases = nil })
	id := o.add(t, letter{key: "O1"})
	p, err := o.Preflight(t.Context(), id, "")
	if err != nil || p.Verdict != replay.Unknown || p.Why != replay.WhyProbe || p.Consent != replay.SentNever {
		t.Errorf("got %+v, %v, want unknown", p, err)
	}
}

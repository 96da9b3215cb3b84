package dlq

import (
	"maps"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// rascalFamily is Rascal, which keeps a table of its own among the headers.
var rascalFamily = family{
	name: "rascal", marks: []string{"rascal"},
	sure: func(r *specimen, marked bool) bool { return marked && rascalTable(r) != nil },
	read: func(r *specimen) found {
		table := rascalTable(r)
		problem, _ := table["error"].(rabbit.Table)
		f := found{
			retries: countOf(table["redeliveries"]),
			queue:   shortOf(table["originalQueue"]), exchange: exactOf(table["originalExchange"]), routingKey: exactOf(table["originalRoutingKey"]),
		}
		f.failure.Message, _ = textOf(problem["message"])
		f.failure.Type, _ = textOf(problem["code"])
		return f
	},
	mend: mendRascal,
}

func rascalTable(r *specimen) rabbit.Table {
	table, _ := r.headers["rascal"].(rabbit.Table)
	return table
}

// rascalSpent is what Rascal's recovery of one queue leaves: a flag by which it
// nacks the message straight back, and counters by which it calls it exhausted.
var rascalSpent = []string{"immediateNack", "xDeath", "republished", "forwarded"}

func mendRascal(r *specimen, u *Unit) {
	table := maps.Clone(rascalTable(r))
	if _, encrypted := table["encryption"]; encrypted {
		u.warn(WarnEncrypted)
	}
	changed := false
	if _, there := table["error"]; there {
		delete(table, "error")
		changed = true
	}
	if recovery, ok := table["recovery"].(rabbit.Table); ok {
		if rest, less := withoutSpent(recovery); less {
			table["recovery"], changed = rest, true
		}
	}
	if changed {
		u.Headers["rascal"] = table
		u.edit(EditRascal)
	}
}

func withoutSpent(recovery rabbit.Table) (rest rabbit.Table, less bool) {
	rest = maps.Clone(recovery)
	for queue, value := range recovery {
		of, ok := value.(rabbit.Table)
		if !ok || !hasAny(of, rascalSpent) {
			continue
		}
		of = maps.Clone(of)
		for _, name := range rascalSpent {
			delete(of, name)
		}
		rest[queue], less = of, true
	}
	return rest, less
}

func hasAny(t rabbit.Table, names []string) bool {
	for _, name := range names {
		if _, there := t[name]; there {
			return true
		}
	}
	return false
}

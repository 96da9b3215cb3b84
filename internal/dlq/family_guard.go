package dlq

// guardFamily is this project's own guard package. Its failure headers stay on
// a replayed message: the guard writes them anew when it fails again, and reads
// where it came from out of them.
var guardFamily = family{
	name: "guard",
	// Other names of the guard are Spring's too; these two are its own.
	marks: []string{"x-exception-type", "x-original-queue"},
	sure: func(r *specimen, marked bool) bool {
		return marked && hasMost(r, []string{"x-exception-type", "x-original-queue", "x-exception-message", "x-retry-count"}, 2)
	},
	read: func(r *specimen) found {
		return found{
			failure:    r.failure("x-exception-type", "x-exception-message", ""),
			retries:    countOf(r.headers["x-retry-count"]),
			queue:      shortOf(r.headers["x-original-queue"]),
			exchange:   exactOf(r.headers["x-original-exchange"]),
			routingKey: exactOf(r.headers["x-original-routingKey"]),
		}
	},
}

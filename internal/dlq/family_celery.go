package dlq

// celeryFamily is Celery, which keeps its failures in the result backend.
var celeryFamily = family{
	name: "celery", marks: []string{"argsrepr", "root_id"},
	sure: func(r *specimen, marked bool) bool { return marked && hasMost(r, []string{"task", "id"}, 2) },
	read: func(r *specimen) found { return found{retries: countOf(r.headers["retries"])} },
	mend: func(r *specimen, u *Unit) {
		if past(r.headers["expires"], u.at) {
			u.warn(WarnExpires)
		}
	},
}

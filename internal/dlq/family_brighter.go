package dlq

// brighterFamily is Brighter, which rejects and writes its reason to the log
// only.
var brighterFamily = family{
	name: "brighter", marks: []string{"HandledCount", "Topic"},
	sure: func(r *specimen, marked bool) bool {
		return marked && hasMost(r, []string{"Topic", "MessageType"}, 2)
	},
	read: func(r *specimen) found { return found{retries: countOf(r.headers["HandledCount"])} },
	off:  []string{"HandledCount"},
}

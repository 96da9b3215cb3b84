package dlq

// capFamily is DotNetCore.CAP, which keeps its failures in tables of its own.
var capFamily = family{
	name: "cap", prefixes: []string{"cap-msg-"},
	sure: func(r *specimen, marked bool) bool {
		return marked && hasMost(r, []string{"cap-msg-id", "cap-msg-name"}, 2)
	},
}

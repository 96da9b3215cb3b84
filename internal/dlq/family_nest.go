package dlq

// nestFamily is NestJS, which leaves no reason; its body says what was asked
// for ({pattern, data, id}).
var nestFamily = family{
	name: "nest",
	sure: func(r *specimen, _ bool) bool {
		return r.body.isObject() && len(r.body.members) <= 4 && r.body.has("pattern") && r.body.has("data")
	},
}

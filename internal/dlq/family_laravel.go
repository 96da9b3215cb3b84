package dlq

import (
	"maps"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// laravelFamily is Laravel, which keeps its failures in a table of its own and
// counts in a table header. A job whose attempts are used up fails at once, so a
// replay sets them back.
var laravelFamily = family{
	name: "laravel", marks: []string{"laravel"},
	sure: func(r *specimen, marked bool) bool {
		_, table := r.headers["laravel"].(rabbit.Table)
		return marked && table
	},
	read: func(r *specimen) found {
		table, _ := r.headers["laravel"].(rabbit.Table)
		return found{retries: countOf(table["attempts"])}
	},
	mend: func(r *specimen, u *Unit) {
		table, _ := r.headers["laravel"].(rabbit.Table)
		if n := countOf(table["attempts"]); n == nil || *n == 0 {
			return
		}
		table = maps.Clone(table)
		table["attempts"] = zeroLike(table["attempts"])
		u.Headers["laravel"] = table
		u.edit(EditLaravelAttempts)
	},
}

// zeroLike returns 0 as the same type of AMQP.
func zeroLike(value any) any {
	switch value.(type) {
	case int8:
		return int8(0)
	case int16:
		return int16(0)
	case int32:
		return int32(0)
	}
	return int64(0)
}

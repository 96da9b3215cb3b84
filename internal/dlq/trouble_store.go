package dlq

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// storeTroubles are the reasons for which Postgres takes no rows, by SQLSTATE or
// its class, each with what to do.
var storeTroubles = []struct{ code, what, remedy string }{
	{"53100", "has no room left on its disk", "Free some"},
	{"53200", "is out of memory", "Give it more, or take load off it"},
	{"53300", "has too many connections", "Raise max_connections or the role's limit, or close some"},
	{"25006", "is read-only: it is a standby, or fails over", "Wait for the failover, or point database.url at the primary"},
	{"57P01", "shuts down, restarts or fails over", "Nothing is to be done if that was meant"},
	{"57P02", "has crashed and restarts", "Look into its log if that goes on"},
	{"57P03", "starts up, or is a standby that takes no connections", "Wait for it"},
	{"57014", "cancelled the statement: statement_timeout, or somebody's hand", "Raise statement_timeout for the console's role if that goes on"},
	{"55P03", "kept the rows locked for longer than lock_timeout", "See who holds them in pg_locks if that goes on"},
	{"40P01", "found a deadlock", "Nothing is to be done, unless that goes on"},
	{"40001", "could not order two transactions", "Nothing is to be done, unless that goes on"},
	{"3D000", "has no such database", "Create it, or put database.url right"},
	{"42501", "does not allow this to the console's role", "Grant it what `console migrate` asks for"},
	{"42P01", "lacks a table", "Run `console migrate`"},
	{"42703", "lacks a column", "Run `console migrate` with this version"},
	{"28", "refuses the console's role or password", "Put database.url right, or the role"},
	{"53", "has not what it takes", "Look into its log"},
	{"58", "cannot read or write its files", "Look into its log and at its disk"},
	{"XX", "found its data damaged", "Look into its log before anything else"},
	{"08", "lost the connection", "Nothing is to be done, unless that goes on"},
}

// storeTrouble is troubleOf for what Postgres is the cause of. The messages stay
// on the broker, and nothing is taken from it before Postgres has answered.
func storeTrouble(err error) trouble {
	what, remedy, kind := "does not answer", "See that it runs and can be reached", "store"
	var pgErr *pgconn.PgError
	switch {
	case errors.As(err, &pgErr):
		what, remedy, kind = "does not take messages", "Look into its log", "store "+pgErr.Code
		for _, t := range storeTroubles {
			if t.code == pgErr.Code[:min(len(t.code), len(pgErr.Code))] {
				what, remedy = t.what, t.remedy
				break
			}
		}
	case errors.Is(err, context.DeadlineExceeded):
		what, remedy, kind = "took too long", "See what it is busy with if that goes on", "store slow"
	}
	why := fmt.Sprintf("Postgres %s (%v). Nothing is drained: messages stay on the broker, and none is lost. %s; draining goes on by itself.", what, err, remedy)
	return trouble{SourceBlocked, kind, displayable(why), true, paceSoon}
}

package web

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// A database that cannot do the work now is not the console's own fault: 503,
// so that programs try again, and people read what it is.
func TestDatabaseThatCannotWorkIsUnavailable(t *testing.T) {
	t.Parallel()
	tests := map[string]int{
		"25006": 503, "53100": 503, "53300": 503, "57P01": 503, "57P03": 503, "57014": 503, "55P03": 503,
		"23505": 500, "42601": 500,
	}
	for code, want := range tests {
		err := fmt.Errorf("dlq: list: %w", &pgconn.PgError{Code: code})
		if got := failureOf(err).status; got != want {
			t.Errorf("SQLSTATE %s: %d, want %d", code, got, want)
		}
	}
	if got := failureOf(errors.New("anything else")).status; got != 500 {
		t.Errorf("anything else: %d, want 500", got)
	}
}

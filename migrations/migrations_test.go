package migrations_test

import (
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/migrations"
)

// Consoles of one version that start together bring an empty schema up once.
func TestApplyManyAtOnce(t *testing.T) {
	t.Parallel()
	pool := pgtest.Empty(t)
	if err := migrations.Check(t.Context(), pool); !errors.Is(err, migrations.ErrBehind) {
		t.Fatalf("an empty schema: %v, want ErrBehind", err)
	}
	group, ctx := errgroup.WithContext(t.Context())
	for range 4 {
		group.Go(func() error { return migrations.Apply(ctx, pool) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := migrations.Check(t.Context(), pool); err != nil {
		t.Errorf("after Apply: %v", err)
	}
}

// An older binary neither works on nor touches a newer schema.
func TestNewerSchemaIsLeftAlone(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	if _, err := pool.Exec(t.Context(), "INSERT INTO schema_migrations (version, name) VALUES (9999, 'from the future')"); err != nil {
		t.Fatal(err)
	}
	if err := migrations.Check(t.Context(), pool); !errors.Is(err, migrations.ErrAhead) {
		t.Errorf("Check: %v, want ErrAhead", err)
	}
	if err := migrations.Apply(t.Context(), pool); !errors.Is(err, migrations.ErrAhead) {
		t.Errorf("Apply: %v, want ErrAhead", err)
	}
}

package redistest_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/redistest"
)

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	first, second := redistest.New(t), redistest.New(t)
	if first.URL == second.URL {
		t.Fatalf("both got %s", first.URL)
	}
	if err := first.Client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n := second.Client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("the other database has %d keys, want none", n)
	}
}

func TestPrivateServerComesBackWithItsData(t *testing.T) {
	t.Parallel()
	server := redistest.Private(t)
	if err := server.Client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}

	server.Kill(t)
	if err := server.Client.Ping(t.Context()).Err(); err == nil {
		t.Fatal("a killed server answers")
	}
	server.Start(t)

	if got := server.Client.Get(t.Context(), "k").Val(); got != "v" {
		t.Errorf("after the restart k is %q, want v", got)
	}
}

func TestPausedServerDoesNotAnswerUntilResumed(t *testing.T) {
	t.Parallel()
	server := redistest.Private(t)

	server.Pause(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := server.Client.Ping(ctx).Err(); err == nil {
		t.Error("a paused server answers")
	}
	server.Resume(t)

	if err := server.Client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("after resuming: %v", err)
	}
}

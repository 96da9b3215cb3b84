package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

// Where a console dies, for TestMain's child.
const (
	diesReleasing = "releasing" // just after Redis freed the key
	diesBinding   = "binding"   // after claim and release, before the step before the publish
	diesBefore    = "before"    // just before the publish
	diesAfter     = "after"     // just after the confirm
)

// TestMain is the console that dies in the middle of a replay, where the test
// that starts this binary says so.
func TestMain(m *testing.M) {
	if os.Getenv("REPLAY_TEST_DIES") != "" {
		dieReplaying()
	}
	os.Exit(m.Run())
}

func dieReplaying() {
	die := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	pool, err := pgxpool.New(ctx(), os.Getenv("REPLAY_TEST_POSTGRES"))
	if err != nil {
		os.Exit(3)
	}
	client, err := keys.Connect(ctx(), keys.Options{URLs: []string{os.Getenv("REPLAY_TEST_REDIS")}})
	if err != nil {
		os.Exit(3)
	}
	broker := &tap{realPublisher: rabbit.NewPublisher(os.Getenv("REPLAY_TEST_AMQP"), "dies", nil)}
	switch os.Getenv("REPLAY_TEST_DIES") {
	case diesReleasing:
		client.AddHook(dyingHook{die})
	case diesBinding:
		broker.binding = die
	case diesBefore:
		broker.before = func(rabbit.Message) { die() }
	case diesAfter:
		broker.after = func(rabbit.Message) { die() }
	}
	publishers := replay.Publishers(nil)
	publishers["pay"] = broker
	s := replay.New(replay.Options{
		Pool: pool, Store: dlq.NewStore(pool), Keys: keys.NewRegistry(client, spaces), Publishers: publishers, Lease: 2 * time.Second,
		Plans: []replay.Plan{{
			Source: dlq.Source{Name: "pay-success", Broker: "pay"}, Spaces: []string{"status"}, Broker: "pay", Route: replay.RouteReplayExchange,
		}},
	})
	_, _ = s.Replay(ctx(), replay.Request{
		MessageID: os.Getenv("REPLAY_TEST_MESSAGE"), Actor: "alice", Reason: "x", At: time.Now(),
		ReleaseKeys: []replay.Release{{Key: statusKey, Seen: os.Getenv("REPLAY_TEST_SEEN")}},
	})
	os.Exit(4) // it should have died
}

// dyingHook dies once a script has run and before its answer is told.
type dyingHook struct{ die func() }

func (dyingHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (dyingHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h dyingHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if strings.HasPrefix(cmd.Name(), "eval") && err == nil {
			h.die()
		}
		return err
	}
}

// dieAt has another process replay a message and die on the way.
func (o *office) dieAt(t *testing.T, where, id string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), "REPLAY_TEST_DIES="+where, "REPLAY_TEST_POSTGRES="+pgtest.URL(o.pool),
		"REPLAY_TEST_REDIS="+o.redisURL, "REPLAY_TEST_AMQP="+o.vhost.URL, "REPLAY_TEST_MESSAGE="+id,
		"REPLAY_TEST_SEEN="+o.seen(t, statusKey).Seen)
	output, err := child.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child was to be killed: %v\n%s", err, output)
	}
}

func TestConsoleThatDiesWhileReplaying(t *testing.T) {
	t.Parallel()
	tests := []struct {
		where string
		want  standing
		depth int
		key   keys.ReleaseResult
		says  string
	}{
		{diesReleasing, standing{dlq.Open, replay.Blocked, "", ""}, 0, replay.ReleaseUnknown, replay.DetailLeaseReleasing},
		{diesBinding, standing{dlq.Open, replay.Blocked, "", ""}, 0, keys.Released, replay.DetailLeaseReleasing},
		{diesBefore, standing{dlq.Replaying, replay.AttemptUnknown, "", ""}, 0, keys.Released, replay.DetailLeaseUnknown},
		{diesAfter, standing{dlq.Replaying, replay.AttemptUnknown, "", ""}, 1, keys.Released, replay.DetailLeaseUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.where, func(t *testing.T) {
			t.Parallel()
			o := setUp(t, quick)
			o.hold(t, statusKey, "PROCESSING", old)
			id := o.add(t, letter{key: "O1"})
			o.dieAt(t, tt.where, id)
			o.expect(t, id, standing{dlq.Replaying, replay.Waiting, "", ""})
			if _, err := o.Replay(t.Context(), o.request(id)); !errors.Is(err, replay.ErrClaimLost) {
				t.Errorf("while the lease runs: %v, want ErrClaimLost", err)
			}
			o.run(t)
			o.await(t, id, tt.want)
			if n := o.depth(t); n != tt.depth {
				t.Errorf("%d in the queue, want %d", n, tt.depth)
			}
			if o.there(t, statusKey) {
				t.Error("the key is still there: it was released before the console died")
			}
			if o.broker.published.Load() != 0 {
				t.Error("it was published again by itself")
			}
			var noted []replay.ReleasedKey
			last := o.last(t, id)
			if err := json.Unmarshal(last.Released, &noted); err != nil || len(noted) != 1 || noted[0].Result != tt.key || last.Detail != tt.says {
				t.Errorf("the attempt says %s and %q, %v, want %s and %q", last.Released, last.Detail, err, tt.key, tt.says)
			}
			if diff := cmp.Diff([]string{"release intended", "release " + string(tt.key)}, o.trail(t, "key "+statusKey)); diff != "" {
				t.Errorf("audit of the key (-want +got):\n%s", diff)
			}
			trail := o.trail(t, "message "+id)
			if got := trail[len(trail)-1]; got != "replay "+string(tt.want.Attempt) {
				t.Errorf("the audit ends with %q", got)
			}
			if tt.want.State == dlq.Open {
				o.send(t, id)
				return
			}
			if _, err := o.Replay(t.Context(), o.request(id)); !errors.Is(err, dlq.ErrBadState) {
				t.Errorf("before it is settled: %v, want ErrBadState", err)
			}
		})
	}
}

// A console that was only slow must not send after its lease was ended.
func TestConsoleThatLostItsClaimSendsNothing(t *testing.T) {
	t.Parallel()
	o := setUp(t, route(replay.RouteReplayExchange))
	id := o.add(t, letter{key: "O1"})
	o.broker.binding = func() { // just before the step before the publish
		o.exec(t, o.pool, "UPDATE dead_letters SET claimed_until = now() - interval '1 second' WHERE id = $1", id)
		other := replay.New(o.options)
		go func() { _ = other.Run(t.Context()) }()
		o.await(t, id, standing{dlq.Open, replay.Blocked, "", ""})
	}
	_, err := o.Replay(t.Context(), o.request(id))
	if !errors.Is(err, replay.ErrClaimLost) || o.depth(t) != 0 {
		t.Errorf("got %v and %d in the queue, want ErrClaimLost and none", err, o.depth(t))
	}
	o.expect(t, id, standing{dlq.Open, replay.Blocked, "", ""})
}

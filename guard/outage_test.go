package guard_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/guard"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/redistest"
)

// newRigWithOwnRedis returns a rig whose Redis may be killed.
func newRigWithOwnRedis(t *testing.T) (*rig, *redistest.Server) {
	t.Helper()
	server := redistest.Private(t)
	o, err := redis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	o.ContextTimeoutEnabled = true
	client := redis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	r := newRigOn(t, rabbittest.New(t), client)
	r.o.Patience = time.Second
	return r, server
}

// H11: while Redis is away nothing is taken from the queue, nothing is given
// back again and again, and no run counts as failed.
func TestH11RedisAwayPausesConsumption(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]struct {
		leave, back func(*redistest.Server, testing.TB)
	}{
		"killed":  {(*redistest.Server).Kill, (*redistest.Server).Start},
		"hanging": {(*redistest.Server).Pause, (*redistest.Server).Resume},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, server := newRigWithOwnRedis(t)
			// The queue counts how often each message was given back.
			r.o.Queue = "q.counting"
			r.v.Queue(t, "q.counting", amqp.Table{"x-queue-type": "quorum"})
			r.v.Bind(t, "q.counting", "counting", "ex.pay")
			var givenBack atomic.Int64
			r.say = func(_ context.Context, d amqp.Delivery, _ string) error {
				count, _ := d.Headers["x-delivery-count"].(int64)
				givenBack.Store(max(givenBack.Load(), count))
				if _, counted := d.Headers["x-retry-count"]; counted {
					t.Error("the outage counts as a failed run")
				}
				return nil
			}
			stop := r.start(t)
			r.v.Publish(t, "ex.pay", "counting", amqp.Publishing{Body: []byte(`{"orderNo":"P0"}`)})
			r.waitRuns(t, 1)

			away.leave(server, t)
			for i := range 20 {
				r.v.Publish(t, "ex.pay", "counting", amqp.Publishing{Body: fmt.Appendf(nil, `{"orderNo":"P%d"}`, i+1)})
			}
			r.waitEvent(t, guard.EventDegraded, "consumption is paused")
			poll.True(t, soon, "all 20 back in the queue", func() bool { return r.v.Depth(t, "q.counting") == 20 })
			if n := r.ran(); n != 1 {
				t.Errorf("%d runs while Redis is away", n-1)
			}
			away.back(server, t)
			r.waitRuns(t, 21)
			stop()
			if n := r.ran(); n != 21 {
				t.Errorf("%d runs, want 21", n)
			}
			if n := r.v.Depth(t, "q.counting"); n != 0 {
				t.Errorf("%d messages are left", n)
			}
			if n := givenBack.Load(); n > 2 {
				t.Errorf("a message was given back %d times", n)
			}
		})
	}
}

func TestRedisAwayFromTheStartIsWaitedFor(t *testing.T) {
	t.Parallel()
	r, server := newRigWithOwnRedis(t)
	server.Kill(t)
	r.publish(t, "P1", nil)
	stop := r.start(t)
	r.waitEvent(t, guard.EventDegraded, "consumption is paused")
	if n := r.v.Depth(t, queue); n != 1 {
		t.Errorf("%d ready, want 1: it was taken", n)
	}
	server.Start(t)
	r.waitRuns(t, 1)
	r.drained(t, stop)
}

func TestFailOpenGoesOnWithoutTheKey(t *testing.T) {
	t.Parallel()
	r, server := newRigWithOwnRedis(t)
	r.o.Fallback = guard.FailOpen
	server.Kill(t)
	r.publish(t, "P1", amqp.Table{"dlo-message-id": "m", "dlo-replay-id": "1"}) // its report cannot be written either
	stop := r.start(t)
	r.waitRuns(t, 1)
	r.waitEvent(t, guard.EventDegraded, `"fallback":"open"`)
	r.drained(t, stop)
}

// A run that ends while Redis is away owes its key a word: without it the key
// would say for a day that the run goes on.
func TestAKeyIsClearedWhenRedisIsBack(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]error{"success": nil, "failure": errBank} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, server := newRigWithOwnRedis(t)
			begun, goOn := make(chan struct{}), make(chan struct{})
			r.say = func(context.Context, amqp.Delivery, string) error {
				if r.ran() > 1 {
					return nil
				}
				close(begun)
				<-goOn
				return outcome
			}
			r.publish(t, "P1", nil)
			stop := r.start(t)
			<-begun
			server.Kill(t)
			close(goOn)
			r.waitEvent(t, guard.EventDegraded, "a key could not be cleared")
			server.Start(t)
			poll.True(t, soon, "the key marked", func() bool { return r.value(t, "P1") == "SUCCESS" })
			r.drained(t, stop)
			want := 1
			if outcome != nil {
				want = 2 // the ladder brought it back, and its key let it in
			}
			if n := r.ran(); n != want {
				t.Errorf("%d runs, want %d", n, want)
			}
		})
	}
}

// H12: what cannot be put on the ladder is neither acked nor let go of.
func TestH12WithoutTheLadderTheMessageStaysInHand(t *testing.T) {
	t.Parallel()
	for name, break_ := range map[string]func(*testing.T, *rig) (mend func()){
		"the exchange is gone": func(t *testing.T, r *rig) func() {
			r.v.Manage(t, http.MethodDelete, "/api/exchanges/"+r.v.Name+"/ex.pay.dlx", "")
			return func() {
				r.v.Exchange(t, "ex.pay.dlx", "direct", nil)
				r.v.Bind(t, terminal, "terminal", "ex.pay.dlx")
			}
		},
		"no queue takes it": func(t *testing.T, r *rig) func() {
			r.v.Manage(t, http.MethodDelete, "/api/queues/"+r.v.Name+"/"+terminal, "")
			return func() {
				r.v.Queue(t, terminal, nil)
				r.v.Bind(t, terminal, "terminal", "ex.pay.dlx")
			}
		},
		"the queue refuses it": func(t *testing.T, r *rig) func() {
			r.v.Manage(t, http.MethodDelete, "/api/queues/"+r.v.Name+"/"+terminal, "")
			r.v.Queue(t, terminal, amqp.Table{"x-max-length": int64(0), "x-overflow": "reject-publish"})
			r.v.Bind(t, terminal, "terminal", "ex.pay.dlx")
			return func() {
				r.v.Manage(t, http.MethodDelete, "/api/queues/"+r.v.Name+"/"+terminal, "")
				r.v.Queue(t, terminal, nil)
				r.v.Bind(t, terminal, "terminal", "ex.pay.dlx")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.o.Ladder.Max = 1
			r.say = func(context.Context, amqp.Delivery, string) error { return errBank }
			mend := break_(t, r)
			r.publish(t, "P1", nil)
			stop := r.start(t)
			r.waitEvent(t, guard.EventDegraded, "it stays in hand")
			r.unacked(t, 1)
			if r.value(t, "P1") == "" {
				t.Error("the key was released though the message is not on the ladder")
			}
			mend()
			d := r.dead(t)
			r.drained(t, stop)
			if r.ran() != 1 || d.Headers["x-retry-count"] != int64(1) || r.value(t, "P1") != "" {
				t.Errorf("%d runs, headers %v, key %q", r.ran(), d.Headers, r.value(t, "P1"))
			}
		})
	}
}

func TestStoppedWithoutTheLadderTheMessageIsBackInItsQueue(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.say = func(context.Context, amqp.Delivery, string) error { return errBank }
	r.v.Manage(t, http.MethodDelete, "/api/exchanges/"+r.v.Name+"/ex.pay.dlx", "")
	r.publish(t, "P1", nil)
	stop := r.start(t)
	r.waitEvent(t, guard.EventDegraded, "it stays in hand")
	stop()
	d, there := r.v.Get(t, queue)
	if !there || d.Headers["x-retry-count"] != nil {
		t.Errorf("back in the queue: %v, headers %v", there, d.Headers)
	}
	if got := r.value(t, "P1"); got != "" {
		t.Errorf("the key is still held: %s", got)
	}
}

// A consumer outlives what the broker does to it.
func TestConsumerComesBack(t *testing.T) {
	t.Parallel()
	for name, hit := range map[string]func(*testing.T, *rig){
		"after its connections were cut": func(t *testing.T, r *rig) {
			poll.True(t, soon, "a connection cut", func() bool { return r.v.CloseConnections(t) > 0 })
		},
		"after its queue was deleted": func(t *testing.T, r *rig) {
			r.v.Manage(t, http.MethodDelete, "/api/queues/"+r.v.Name+"/"+queue, "")
			r.waitEvent(t, guard.EventDegraded, "not consuming")
			r.v.Queue(t, queue, amqp.Table{"x-dead-letter-exchange": "ex.pay.dlx", "x-dead-letter-routing-key": "wait0"})
			r.v.Bind(t, queue, "pay.success", "ex.pay")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			stop := r.start(t)
			r.publish(t, "P1", nil)
			r.waitRuns(t, 1)
			poll.True(t, soon, "the first key marked", func() bool { return r.value(t, "P1") == "SUCCESS" })
			hit(t, r)
			r.publish(t, "P2", nil)
			poll.True(t, soon, "the second key marked", func() bool { return r.value(t, "P2") == "SUCCESS" })
			r.drained(t, stop)
			if n := r.ran(); n != 2 {
				t.Errorf("%d runs", n)
			}
		})
	}
}

// The connection dies under a run: the run ends first, so that its message
// finds the key marked when it comes again.
func TestARunThatOutlivesItsConnectionIsNotRunTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	r.say = func(context.Context, amqp.Delivery, string) error {
		close(begun)
		<-goOn
		return nil
	}
	stop := r.start(t)
	r.publish(t, "P1", nil)
	<-begun
	poll.True(t, soon, "a connection cut", func() bool { return r.v.CloseConnections(t) > 0 })
	poll.True(t, soon, "the message back in its queue", func() bool { return r.v.Depth(t, queue) == 1 })
	close(goOn)
	r.waitEvent(t, guard.EventSkipped, "P1")
	r.drained(t, stop)
	if n := r.ran(); n != 1 {
		t.Errorf("%d runs", n)
	}
}

func TestAFailedRunThatOutlivesItsConnectionRunsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	r.say = func(context.Context, amqp.Delivery, string) error {
		if r.ran() > 1 {
			return nil
		}
		close(begun)
		<-goOn
		return errBank
	}
	stop := r.start(t)
	r.publish(t, "P1", nil)
	<-begun
	poll.True(t, soon, "a connection cut", func() bool { return r.v.CloseConnections(t) > 0 })
	poll.True(t, soon, "the message back in its queue", func() bool { return r.v.Depth(t, queue) == 1 })
	close(goOn)
	poll.True(t, soon, "the key marked", func() bool { return r.value(t, "P1") == "SUCCESS" })
	r.drained(t, stop)
	if n := r.ran(); n != 2 {
		t.Errorf("%d runs, want 2: no second copy on the ladder", n)
	}
}

func TestStopFinishesWhatIsInHandAndGivesBackTheRest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Concurrency, r.o.Prefetch = 2, 10
	goOn := make(chan struct{})
	r.say = func(ctx context.Context, _ amqp.Delivery, _ string) error {
		<-goOn
		return ctx.Err()
	}
	for i := range 10 {
		r.publish(t, fmt.Sprint("P", i), nil)
	}
	stop := r.start(t)
	r.waitRuns(t, 2)
	r.unacked(t, 10)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	close(goOn)
	<-stopped
	// The two in hand are done. Between stop and the end of the first run
	// nothing new may begin.
	done := r.ran()
	if n := r.v.Depth(t, queue); n != 10-done {
		t.Errorf("%d runs and %d left, want 10 together", done, n)
	}
	if n := r.v.Depth(t, "q.wait0"); n != 0 {
		t.Errorf("%d runs failed: their context was cancelled", n)
	}
}

package replay_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/redistest"
)

const (
	statusKey = "idempotent:msg:O1"
	flagKey   = "mq:consumed:O1"
)

func (o *office) there(t *testing.T, name string) bool {
	t.Helper()
	return o.redis.Exists(t.Context(), name).Val() == 1
}

func TestStaleKeyIsReleasedWithTheReplay(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	o.hold(t, statusKey, "PROCESSING:dead-worker", old)
	id := o.add(t, letter{key: "O1"})
	p, err := o.Preflight(t.Context(), id, replay.RouteAuto)
	if err != nil || p.Verdict != replay.StaleKey || p.AfterRelease != replay.WillRun || len(p.Releasable) != 1 {
		t.Fatalf("preflight: %+v, %v", p, err)
	}
	r := o.request(id)
	r.ReleaseKeys = []replay.Release{{Key: p.Releasable[0].Name, Seen: p.Releasable[0].Seen}}
	result, err := o.Replay(t.Context(), r)
	if err != nil || result.Attempt != replay.Sent {
		t.Fatalf("replay: %+v, %v", result, err)
	}
	want := []replay.ReleasedKey{{Key: statusKey, Space: "status", Result: keys.Released, Before: keys.Processing}}
	if diff := cmp.Diff(want, result.Released); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
	if o.there(t, statusKey) || o.depth(t) != 1 {
		t.Errorf("key there: %v, in the queue: %d", o.there(t, statusKey), o.depth(t))
	}
	if diff := cmp.Diff([]string{"release intended", "release released"}, o.trail(t, "key "+statusKey)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	last := o.last(t, id)
	var noted []replay.ReleasedKey
	if err := json.Unmarshal(last.Released, &noted); err != nil || cmp.Diff(want, noted) != "" {
		t.Errorf("the attempt says %s, %v", last.Released, err)
	}
	var evidence struct{ Guards []replay.GuardAnswer }
	if err := json.Unmarshal(last.Evidence, &evidence); err != nil || evidence.Guards[0].State != string(keys.Absent) {
		t.Errorf("evidence of the moment of the publish: %s, %v", last.Evidence, err)
	}
	if n := o.counter(t, "dlo_key_releases_total", map[string]string{"space": "status", "result": "released"}); n != 1 {
		t.Errorf("counted %v releases, want 1", n)
	}
}

func TestKeyThatIsNotAsSeenBlocksTheReplay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		after func(*testing.T, *office)
		want  keys.ReleaseResult // "": sent
	}{
		{"finished meanwhile", func(t *testing.T, o *office) { o.hold(t, statusKey, "SUCCESS", old) }, keys.Protected},
		{"acquired by another", func(t *testing.T, o *office) { o.hold(t, statusKey, "PROCESSING:new", old) }, keys.Changed},
		{"acquired again alike", func(t *testing.T, o *office) { o.hold(t, statusKey, "PROCESSING:dead", old+time.Second) }, keys.Reacquired},
		{"another type", func(t *testing.T, o *office) {
			o.redis.Del(t.Context(), statusKey)
			o.redis.HSet(t.Context(), statusKey, "status", "PROCESSING")
		}, ""},
		{"gone by itself", func(t *testing.T, o *office) { o.redis.Del(t.Context(), statusKey) }, keys.Gone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := setUp(t)
			o.hold(t, statusKey, "PROCESSING:dead", old)
			id := o.add(t, letter{key: "O1"})
			r := o.request(id)
			r.ReleaseKeys = []replay.Release{o.seen(t, statusKey)}
			tt.after(t, o)
			result, err := o.Replay(t.Context(), r)
			var changed *replay.KeyChangedError
			switch {
			case tt.want == keys.Gone:
				if err != nil || result.Attempt != replay.Sent {
					t.Errorf("got %+v, %v: a key that is gone holds nothing back", result, err)
				}
			case tt.want == "": // unreadable now: preflight says never
				if !errors.Is(err, replay.ErrNotSent) {
					t.Errorf("got %v, want ErrNotSent", err)
				}
			case !errors.As(err, &changed) || changed.Result != tt.want || result.Attempt != replay.Blocked:
				t.Errorf("got %+v, %v, want ErrKeyChanged with %s", result, err, tt.want)
			default:
				o.expect(t, id, standing{dlq.Open, replay.Blocked, "", ""})
				if !o.there(t, statusKey) || o.depth(t) != 0 {
					t.Error("the key was released or the message sent")
				}
				if diff := cmp.Diff([]string{"release intended", "release " + string(tt.want)}, o.trail(t, "key "+statusKey)); diff != "" {
					t.Errorf("audit (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestFailureAfterAReleaseSaysSo(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	o.hold(t, statusKey, "PROCESSING", old)
	id := o.add(t, letter{key: "O1"})
	r := o.request(id)
	r.ReleaseKeys = []replay.Release{o.seen(t, statusKey)}
	o.broker.instead = func(rabbit.Message) error { return rabbit.ErrBlocked }
	result, err := o.Replay(t.Context(), r)
	if err != nil || result.Attempt != replay.Blocked || !strings.Contains(result.Detail, "released before") {
		t.Errorf("got %+v, %v, want a detail that names the release", result, err)
	}
	o.broker.instead = nil
	o.send(t, id) // nothing holds it back any more
}

func TestHeldKeyWithoutProbesNeedsAReason(t *testing.T) {
	t.Parallel()
	o := setUp(t, withFlag)
	o.hold(t, flagKey, "1", old)
	id := o.add(t, letter{key: "O1"})
	r := o.request(id)
	r.ReleaseKeys, r.Reason = []replay.Release{o.seen(t, flagKey)}, ""
	if _, err := o.Replay(t.Context(), r); !errors.Is(err, replay.ErrNoReason) {
		t.Fatalf("got %v, want ErrNoReason", err)
	}
	r.Reason = "the worker was killed at 03:02"
	if result, err := o.Replay(t.Context(), r); err != nil || result.Attempt != replay.Sent || o.there(t, flagKey) {
		t.Errorf("got %+v, %v", result, err)
	}
}

// The database knows better than the operator: releasing the key of work that
// was done would open the first guard for a second charge.
func TestWorkThatWasDoneProtectsItsKey(t *testing.T) {
	t.Parallel()
	o := setUp(t, withFlag, withProbes)
	o.exec(t, o.business, "INSERT INTO t_order VALUES ('O1', 'PAID')")
	o.exec(t, o.business, "INSERT INTO t_account_flow VALUES ('O1', 'PAY_DEDUCT')")
	o.hold(t, flagKey, "1", old)
	id := o.add(t, letter{key: "O1"})
	r := o.request(id)
	r.ReleaseKeys, r.Override = []replay.Release{o.seen(t, flagKey)}, []replay.Verdict{replay.AlreadyEffected}
	_, err := o.Replay(t.Context(), r)
	var changed *replay.KeyChangedError
	if !errors.As(err, &changed) || changed.Result != keys.Protected {
		t.Errorf("replay: %v, want protected", err)
	}
	got, _, err := o.ReleaseKey(t.Context(), flagKey, o.seen(t, flagKey).Seen, dlq.Act{Actor: "alice", Reason: "now", At: time.Now()})
	if err != nil || got != keys.Protected {
		t.Errorf("release: %s, %v, want protected", got, err)
	}
	inspected, err := o.InspectKey(t.Context(), flagKey)
	if err != nil || inspected.Releasable || inspected.WhyNot != replay.WhyBusinessDone || inspected.Stale {
		t.Errorf("inspection: %+v, %v", inspected, err)
	}
	if !o.there(t, flagKey) || o.depth(t) != 0 {
		t.Error("the key was released or the message sent")
	}
	want := []string{"release intended", "release protected", "release intended", "release protected"}
	if diff := cmp.Diff(want, o.trail(t, "key "+flagKey)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestReleaseKeyAlone(t *testing.T) {
	t.Parallel()
	act := func(reason string) dlq.Act { return dlq.Act{Actor: "alice", Reason: reason, At: time.Now()} }
	o := setUp(t, withFlag)
	o.hold(t, flagKey, "1", old)
	id := o.add(t, letter{key: "O1"})
	inspected, err := o.InspectKey(t.Context(), flagKey)
	if err != nil || !inspected.Releasable || inspected.Decision.Verdict != replay.Unproven || inspected.BusinessKey != "O1" ||
		len(inspected.Messages) != 1 || inspected.Messages[0].ID != id {
		t.Fatalf("inspection: %+v, %v", inspected, err)
	}
	if _, _, err := o.ReleaseKey(t.Context(), flagKey, inspected.Key.Seen, act("")); !errors.Is(err, replay.ErrNoReason) {
		t.Errorf("without a reason: %v, want ErrNoReason", err)
	}
	got, before, err := o.ReleaseKey(t.Context(), flagKey, inspected.Key.Seen, act("worker killed"))
	if err != nil || got != keys.Released || before.Value != "1" {
		t.Errorf("got %s, %+v, %v", got, before, err)
	}
	again, err := o.InspectKey(t.Context(), flagKey)
	if err != nil || again.Releasable || again.WhyNot != replay.WhyNothingToRelease || len(again.Releases) != 2 {
		t.Errorf("inspection after it: %+v, %v", again, err)
	}
	for _, key := range []string{"celery:1", ""} {
		if _, err := o.InspectKey(t.Context(), key); !errors.Is(err, keys.ErrNoSpace) {
			t.Errorf("inspect %q: %v, want ErrNoSpace", key, err)
		}
	}
	if _, _, err := o.ReleaseKey(t.Context(), flagKey, "?", act("x")); !errors.Is(err, keys.ErrBadSeen) {
		t.Errorf("bad token: %v", err)
	}
}

func TestKeyStaysWhileAProbeIsDown(t *testing.T) {
	t.Parallel()
	o := setUp(t, withFlag, func(o *replay.Options) {
		o.Plans[0].Guards = []replay.Guard{{Name: "flow", Kind: replay.KindEffect, Database: "orders", Query: "SELECT 1 FROM gone WHERE x = $1"}}
	})
	o.hold(t, flagKey, "1", old)
	_, _, err := o.ReleaseKey(t.Context(), flagKey, o.seen(t, flagKey).Seen, dlq.Act{Actor: "alice", Reason: "x", At: time.Now()})
	if !errors.Is(err, replay.ErrNoEvidence) || !o.there(t, flagKey) {
		t.Errorf("got %v, key there: %v", err, o.there(t, flagKey))
	}
}

func TestRedisThatDiesBeforeTheReleaseBlocksTheReplay(t *testing.T) {
	t.Parallel()
	server := redistest.Private(t)
	var o *office
	armed, looks := false, 0
	o = setUp(t, func(o *replay.Options) { o.Keys = keys.NewRegistry(server.Client, spaces) }, clock(func() time.Time {
		if looks++; armed && looks == 2 { // the claim's own
			server.Kill(t)
		}
		return time.Now()
	}))
	o.redis = server.Client
	o.hold(t, statusKey, "PROCESSING", old)
	id := o.add(t, letter{key: "O1"})
	r := o.request(id)
	r.ReleaseKeys = []replay.Release{o.seen(t, statusKey)}
	armed = true
	_, err := o.Replay(t.Context(), r)
	if !errors.Is(err, keys.ErrUnavailable) {
		t.Errorf("got %v, want keys.ErrUnavailable", err)
	}
	o.expect(t, id, standing{dlq.Open, replay.Skipped, "", ""})
	server.Start(t)
	if !o.there(t, statusKey) || o.depth(t) != 0 {
		t.Error("the key was released or the message sent")
	}
}

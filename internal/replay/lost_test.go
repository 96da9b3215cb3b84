package replay_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/cutproxy"
)

// loseAnswers has the office's Redis lose the answer to the next release, which
// itself arrives.
func (o *office) loseAnswers(t *testing.T) {
	t.Helper()
	u, err := url.Parse(o.redisURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := cutproxy.New(t, u.Host)
	u.Host = proxy.Addr()
	client, err := keys.Connect(t.Context(), keys.Options{URLs: []string{u.String()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	// Redis has to know the script, or the release takes two round trips.
	const other = "idempotent:msg:other"
	o.hold(t, other, "PROCESSING", old)
	if _, _, err := o.options.Keys.Release(t.Context(), other, o.seen(t, other).Seen); err != nil {
		t.Fatal(err)
	}
	o.options.Keys = keys.NewRegistry(client, spaces)
	o.Service = replay.New(o.options)
	held := proxy.HoldAnswersAfter([]byte("evalsha"))
	go func() {
		select {
		case <-held:
		case <-t.Context().Done():
			return
		}
		for o.redis.Exists(t.Context(), statusKey).Val() == 1 && t.Context().Err() == nil {
		}
		proxy.Cut()
		proxy.HoldAnswers(false)
	}()
}

func TestLostAnswerOfAReleaseIsToldAsUnknown(t *testing.T) {
	t.Parallel()
	audited := []string{"release intended", "release unknown"}
	t.Run("with a replay", func(t *testing.T) {
		t.Parallel()
		o := setUp(t)
		o.hold(t, statusKey, "PROCESSING", old)
		id := o.add(t, letter{key: "O1"})
		r := o.request(id)
		r.ReleaseKeys = []replay.Release{o.seen(t, statusKey)}
		o.loseAnswers(t)
		_, err := o.Replay(t.Context(), r)
		if !errors.Is(err, keys.ErrReleaseUnknown) || errors.Is(err, keys.ErrUnavailable) {
			t.Errorf("got %v, want ErrReleaseUnknown alone", err)
		}
		o.expect(t, id, standing{dlq.Open, replay.Blocked, "", ""})
		last := o.last(t, id)
		want := []replay.ReleasedKey{{Key: statusKey, Space: "status", Result: replay.ReleaseUnknown, Before: keys.Processing}}
		var noted []replay.ReleasedKey
		if err := json.Unmarshal(last.Released, &noted); err != nil || cmp.Diff(want, noted) != "" {
			t.Errorf("the attempt says %s, %v", last.Released, err)
		}
		if !strings.Contains(last.Detail, "may have been released") || o.depth(t) != 0 {
			t.Errorf("detail %q, %d in the queue", last.Detail, o.depth(t))
		}
		if diff := cmp.Diff(audited, o.trail(t, "key "+statusKey)); diff != "" {
			t.Errorf("audit (-want +got):\n%s", diff)
		}
	})
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		o := setUp(t)
		o.hold(t, statusKey, "PROCESSING", old)
		saw := o.seen(t, statusKey).Seen
		o.loseAnswers(t)
		_, _, err := o.ReleaseKey(t.Context(), statusKey, saw, dlq.Act{Actor: "alice", Reason: "x", At: time.Now()})
		if !errors.Is(err, keys.ErrReleaseUnknown) || errors.Is(err, keys.ErrUnavailable) {
			t.Errorf("got %v, want ErrReleaseUnknown alone", err)
		}
		if diff := cmp.Diff(audited, o.trail(t, "key "+statusKey)); diff != "" {
			t.Errorf("audit (-want +got):\n%s", diff)
		}
	})
}

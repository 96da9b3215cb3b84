package keys_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/cutproxy"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/redistest"
)

// An answer that is lost on its way tells nothing: the key is gone here, and
// neither "no key was touched" nor the "gone" of a second try would be true.
func TestLostAnswerToAReleaseIsUnknown(t *testing.T) {
	t.Parallel()
	db := redistest.New(t)
	u, err := url.Parse(db.URL)
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
	b := bundle{keys.NewRegistry(client, spaces), db.Client}
	b.hold(t, flagKey, "1", 24*time.Hour, old)
	if _, _, err := b.Release(t.Context(), flagKey, b.read(t, flagKey).Seen); err != nil { // Redis knows the script now
		t.Fatal(err)
	}
	b.hold(t, flagKey, "1", 24*time.Hour, old)
	saw := b.read(t, flagKey).Seen

	cut := make(chan struct{})
	held := proxy.HoldAnswersAfter([]byte("evalsha"))
	go func() {
		defer close(cut)
		select {
		case <-held:
		case <-t.Context().Done():
			return
		}
		for b.redis.Exists(t.Context(), flagKey).Val() == 1 && t.Context().Err() == nil {
		}
		proxy.Cut()
		proxy.HoldAnswers(false)
	}()
	got, _, err := b.Release(t.Context(), flagKey, saw)
	<-cut
	if !errors.Is(err, keys.ErrReleaseUnknown) || errors.Is(err, keys.ErrUnavailable) {
		t.Errorf("got %q, %v, want ErrReleaseUnknown alone", got, err)
	}
}

// A Redis that is there and lets nobody release is not one that does not answer.
func TestUserWithoutTheRightIsRefused(t *testing.T) {
	t.Parallel()
	for _, lacks := range []string{"-evalsha", "-unlink", "-pttl -hmget -get -type"} {
		server := redistest.Private(t)
		user := []any{"ACL", "SETUSER", "weak", "on", "nopass", "~*", "&*", "+@all"}
		for rule := range strings.FieldsSeq(lacks) {
			user = append(user, rule)
		}
		b := bundle{keys.NewRegistry(server.Client, spaces), server.Client}
		b.hold(t, flagKey, "1", 24*time.Hour, old)
		saw := b.read(t, flagKey).Seen
		if err := server.Client.Do(t.Context(), user...).Err(); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("weak", "x")
		client, err := keys.Connect(t.Context(), keys.Options{URLs: []string{u.String()}})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		got, _, err := keys.NewRegistry(client, spaces).Release(t.Context(), flagKey, saw)
		if !errors.Is(err, keys.ErrRefused) || errors.Is(err, keys.ErrReleaseUnknown) || !b.exists(t, flagKey) {
			t.Errorf("%s: got %q, %v, want ErrRefused and the key left", lacks, got, err)
		}
	}
}

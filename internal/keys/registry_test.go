package keys_test

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/redistest"
)

// spaces is one of each style; the limit is short enough for the old keys that
// setUp makes and longer than a test lasts.
var spaces = []keys.Space{
	{Name: "flag", Pattern: "mq:consumed:{business_key}", Style: keys.Flag, TTL: 24 * time.Hour},
	{Name: "status", Pattern: "idempotent:msg:{business_key}", Style: keys.Status, TTL: 10 * time.Minute},
	{Name: "hash", Pattern: "msg:idempotent:{business_key}", Style: keys.Hash, TTL: 10 * time.Minute},
}

const (
	flagKey   = "mq:consumed:O1"
	statusKey = "idempotent:msg:M1"
	hashKey   = "msg:idempotent:M1"
	old       = 6 * time.Minute
	young     = 4 * time.Minute
)

type bundle struct {
	*keys.Registry
	redis *redis.Client
}

func setUp(t *testing.T) bundle {
	t.Helper()
	db := redistest.New(t)
	return bundle{keys.NewRegistry(db.Client, spaces), db.Client}
}

// hold acquires a string key as if it had been done age ago.
func (b bundle) hold(t *testing.T, key, value string, ttl, age time.Duration) {
	t.Helper()
	if err := b.redis.Set(t.Context(), key, value, ttl-age).Err(); err != nil {
		t.Fatal(err)
	}
}

func (b bundle) holdHash(t *testing.T, status string, age time.Duration) {
	t.Helper()
	start := strconv.FormatInt(time.Now().Add(-age).UnixMilli(), 10)
	err := b.redis.HSet(t.Context(), hashKey, "status", status, "startTime", start, "attempts", "1", "context", "{}", "token", "a").Err()
	if err == nil {
		err = b.redis.Expire(t.Context(), hashKey, 10*time.Minute).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (b bundle) read(t *testing.T, key string) keys.Key {
	t.Helper()
	k, err := b.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (b bundle) exists(t *testing.T, key string) bool {
	t.Helper()
	return b.redis.Exists(t.Context(), key).Val() == 1
}

func TestReadKnowsAgesByRedisClock(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.hold(t, flagKey, "1", 24*time.Hour, old)
	b.hold(t, statusKey, "PROCESSING:w1", 10*time.Minute, young)
	b.holdHash(t, "PROCESSING", old)
	tests := []struct {
		key   string
		state keys.State
		from  string
		age   time.Duration
		stuck bool
	}{
		{flagKey, keys.Held, "ttl", old, false},
		{statusKey, keys.Processing, "ttl", young, false},
		{hashKey, keys.Processing, "startTime", old, true},
	}
	for _, tt := range tests {
		k := b.read(t, tt.key)
		s, _ := b.SpaceOf(tt.key)
		age, known := k.Age()
		if k.State != tt.state || k.SinceFrom != tt.from || !known || k.Stuck(s) != tt.stuck {
			t.Errorf("%s: %+v", tt.key, k)
		}
		if off := age - tt.age; off < -time.Second || off > 30*time.Second {
			t.Errorf("%s: age %v, want about %v", tt.key, age, tt.age)
		}
	}
}

func TestReadManyKeepsTheOrder(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	var names []string
	for i := range 450 {
		names = append(names, fmt.Sprintf("mq:consumed:%d", i))
	}
	b.hold(t, names[201], "1", time.Hour, 0)
	read, err := b.ReadMany(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range read {
		want := keys.Absent
		if i == 201 {
			want = keys.Held
		}
		if k.Name != names[i] || k.State != want {
			t.Fatalf("%d: %s is %s, want %s to be %s", i, k.Name, k.State, names[i], want)
		}
	}
}

func TestReadWithoutSpaceIsAnError(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	if _, err := b.Read(t.Context(), "celery:1"); !errors.Is(err, keys.ErrNoSpace) {
		t.Errorf("got %v, want ErrNoSpace", err)
	}
	if _, _, err := b.Release(t.Context(), "celery:1", "x"); !errors.Is(err, keys.ErrNoSpace) {
		t.Errorf("release: got %v, want ErrNoSpace", err)
	}
	if _, _, err := b.Release(t.Context(), flagKey, "x"); !errors.Is(err, keys.ErrBadSeen) {
		t.Errorf("release: got %v, want ErrBadSeen", err)
	}
}

func TestContextIsNeverFetchedWhole(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.holdHash(t, "PROCESSING", old)
	if err := b.redis.HSet(t.Context(), hashKey, "context", strings.Repeat("x", 1<<20)).Err(); err != nil {
		t.Fatal(err)
	}
	k := b.read(t, hashKey)
	if got := k.Fields["context"]; got != "1048576 bytes" {
		t.Errorf("context is shown as %.40q", got)
	}
	if result, _, err := b.Release(t.Context(), hashKey, k.Seen); err != nil || result != keys.Released {
		t.Errorf("release: %s, %v", result, err)
	}
}

// The two digests, of Go and of the script, must agree on any value.
func TestReleaseTakesAnyValueThatDidNotChange(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"empty": "", "plain": "1", "not text": "\xff\x00\x01", "longer than what is read": strings.Repeat("é", 5000),
	}
	for name, value := range values {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t)
			b.hold(t, flagKey, value, 24*time.Hour, old)
			result, before, err := b.Release(t.Context(), flagKey, b.read(t, flagKey).Seen)
			if err != nil || result != keys.Released || before.State != keys.Held {
				t.Errorf("%s, %+v, %v: want it released", result, before, err)
			}
			if b.exists(t, flagKey) {
				t.Error("the key is still there")
			}
		})
	}
}

func TestReleaseResults(t *testing.T) {
	t.Parallel()
	none := func(*testing.T, bundle) {}
	tests := []struct {
		name   string
		key    string
		before func(*testing.T, bundle) // what the operator sees
		after  func(*testing.T, bundle) // what happens until the click
		want   keys.ReleaseResult
	}{
		{"stuck status", statusKey, func(t *testing.T, b bundle) { b.hold(t, statusKey, "PROCESSING:w1", 10*time.Minute, old) }, none, keys.Released},
		{"stuck hash", hashKey, func(t *testing.T, b bundle) { b.holdHash(t, "PROCESSING", old) }, none, keys.Released},
		{"failed hash, however young", hashKey, func(t *testing.T, b bundle) { b.holdHash(t, "FAILED", 0) }, none, keys.Released},
		{
			"expired", statusKey, func(t *testing.T, b bundle) { b.hold(t, statusKey, "PROCESSING", 10*time.Minute, old) },
			func(t *testing.T, b bundle) { b.redis.Del(t.Context(), statusKey) }, keys.Gone,
		},
		{"never there", statusKey, none, none, keys.Gone},
		{
			"came after it was seen absent", flagKey, none,
			func(t *testing.T, b bundle) { b.hold(t, flagKey, "1", 24*time.Hour, old) }, keys.Changed,
		},
		{
			"another owner", statusKey, func(t *testing.T, b bundle) { b.hold(t, statusKey, "PROCESSING:w1", 10*time.Minute, old) },
			func(t *testing.T, b bundle) { b.hold(t, statusKey, "PROCESSING:w2", 10*time.Minute, old) }, keys.Changed,
		},
		{
			"another attempt in the hash", hashKey, func(t *testing.T, b bundle) { b.holdHash(t, "PROCESSING", old) },
			func(t *testing.T, b bundle) { b.redis.HSet(t.Context(), hashKey, "attempts", "2") }, keys.Changed,
		},
		{
			"the same value acquired again", flagKey, func(t *testing.T, b bundle) { b.hold(t, flagKey, "1", 24*time.Hour, old) },
			func(t *testing.T, b bundle) { b.hold(t, flagKey, "1", 24*time.Hour, old+time.Second) }, keys.Reacquired,
		},
		{
			"finished meanwhile", statusKey, func(t *testing.T, b bundle) { b.hold(t, statusKey, "PROCESSING:w1", 10*time.Minute, old) },
			func(t *testing.T, b bundle) { b.redis.Set(t.Context(), statusKey, "SUCCESS", redis.KeepTTL) }, keys.Protected,
		},
		{"succeeded from the start", statusKey, func(t *testing.T, b bundle) { b.hold(t, statusKey, "success:w1", 10*time.Minute, old) }, none, keys.Protected},
		{"succeeded hash", hashKey, func(t *testing.T, b bundle) { b.holdHash(t, "SUCCESS", old) }, none, keys.Protected},
		{"a value that nobody understands", statusKey, func(t *testing.T, b bundle) { b.hold(t, statusKey, "OK", 10*time.Minute, old) }, none, keys.Protected},
		{"a hash in a space of strings", statusKey, func(t *testing.T, b bundle) { b.redis.HSet(t.Context(), statusKey, "status", "PROCESSING") }, none, keys.WrongType},
		{
			"another type than was seen", statusKey, func(t *testing.T, b bundle) { b.hold(t, statusKey, "PROCESSING", 10*time.Minute, old) },
			func(t *testing.T, b bundle) {
				b.redis.Del(t.Context(), statusKey)
				b.redis.RPush(t.Context(), statusKey, "x")
			}, keys.WrongType,
		},
		{"young status", statusKey, func(t *testing.T, b bundle) { b.hold(t, statusKey, "PROCESSING", 10*time.Minute, young) }, none, keys.TooYoung},
		{"young hash", hashKey, func(t *testing.T, b bundle) { b.holdHash(t, "PROCESSING", young) }, none, keys.TooYoung},
		{"young flag", flagKey, func(t *testing.T, b bundle) { b.hold(t, flagKey, "1", 24*time.Hour, young) }, none, keys.TooYoung},
		{"no expiry, so no age", flagKey, func(t *testing.T, b bundle) { b.redis.Set(t.Context(), flagKey, "1", 0) }, none, keys.TooYoung},
		{"a longer TTL than the space's", flagKey, func(t *testing.T, b bundle) { b.hold(t, flagKey, "1", 48*time.Hour, old) }, none, keys.TooYoung},
		{"startTime in seconds", hashKey, func(t *testing.T, b bundle) {
			b.redis.HSet(t.Context(), hashKey, "status", "PROCESSING", "startTime", time.Now().Unix())
		}, none, keys.TooYoung},
		{"hash with startTime and without expiry", hashKey, func(t *testing.T, b bundle) {
			b.holdHash(t, "PROCESSING", old)
			b.redis.Persist(t.Context(), hashKey)
		}, none, keys.Released},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t)
			tt.before(t, b)
			saw := b.read(t, tt.key).Seen
			tt.after(t, b)
			was := b.read(t, tt.key)
			if r := was.Refusal(saw); tt.want != keys.Released && r != tt.want {
				t.Errorf("the reading refuses with %s, the release with %s", r, tt.want)
			}
			got, before, err := b.Release(t.Context(), tt.key, saw)
			if err != nil || got != tt.want {
				t.Fatalf("got %s, %v, want %s", got, err, tt.want)
			}
			if before.State != was.State && got != keys.WrongType {
				t.Errorf("the snapshot says %s, it was %s", before.State, was.State)
			}
			left := tt.want != keys.Released && tt.want != keys.Gone
			if b.exists(t, tt.key) != left {
				t.Errorf("the key is there: %v, want %v", !left, left)
			}
		})
	}
}

// The script must take for a time exactly what a reading takes for one: Lua's
// numbers know words and notations that make any age look great.
func TestReadingAndScriptAgreeOnStartTimes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	hourOld := strconv.FormatInt(now.Add(-time.Hour).UnixMilli(), 10)
	starts := map[string]bool{ // whether it is a time, and an old one
		hourOld: true, "946684800000": true, "0" + hourOld: true, "00" + hourOld: true,
		"946684799999": false, "253402300800000": false, "999999999999999": false, "000" + hourOld: false,
		strconv.FormatInt(now.UnixMilli(), 10): false, strconv.FormatInt(now.Add(time.Hour).UnixMilli(), 10): false,
		"NaN": false, "nan": false, "-nan": false, "inf": false, "-inf": false, "Infinity": false, "1e12": false, "1E12": false,
		" 1700000000000 ": false, "1700000000000\n": false, "\t1700000000000": false, "1700000000000.5": false, "1700000000000.": false,
		"+1700000000000": false, "-1700000000000": false, "0x18bcfe56800": false, "1700000000000\x00": false, "1_700_000_000_000": false,
		"": false, "0": false, "soon": false, "2023-11-14T22:13:20Z": false, "１７０００００００００００": false,
		strings.Repeat("0", 300) + "1700000000000": false, strings.Repeat("9", 400): false, "1700000000": false,
	}
	b := setUp(t)
	space, _ := b.Space("hash")
	n := 0
	for start, free := range starts {
		n++
		key := fmt.Sprintf("msg:idempotent:S%d", n)
		if err := b.redis.HSet(t.Context(), key, "status", "PROCESSING", "startTime", start).Err(); err != nil {
			t.Fatal(err)
		}
		k := b.read(t, key)
		if k.Stuck(space) != free {
			t.Errorf("startTime %.40q: the reading says %s since %v, want stuck to be %v", start, k.State, k.Since, free)
		}
		got, _, err := b.Release(t.Context(), key, k.Seen)
		if err != nil || (got == keys.Released) != free || b.exists(t, key) == free {
			t.Errorf("startTime %.40q: release says %s, %v, want it free: %v", start, got, err, free)
		}
		if !free && (got != keys.TooYoung || k.Refusal(k.Seen) != got) {
			t.Errorf("startTime %.40q: release says %s, the reading %s, want too_young", start, got, k.Refusal(k.Seen))
		}
	}
}

func TestTwoReleasesAtOnceFreeItOnce(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.hold(t, statusKey, "PROCESSING:w1", 10*time.Minute, old)
	saw := b.read(t, statusKey).Seen
	results := make([]keys.ReleaseResult, 20)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			var err error
			if results[i], _, err = b.Release(t.Context(), statusKey, saw); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	count := map[keys.ReleaseResult]int{}
	for _, r := range results {
		count[r]++
	}
	if count[keys.Released] != 1 || count[keys.Gone] != len(results)-1 {
		t.Errorf("got %v, want one released and the others gone", count)
	}
}

// A Redis that does not answer must never look like a key that is not there.
func TestRedisThatDoesNotServeIsUnavailable(t *testing.T) {
	t.Parallel()
	server := redistest.Private(t)
	client, err := keys.Connect(t.Context(), keys.Options{URLs: []string{server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	b := bundle{keys.NewRegistry(client, spaces), server.Client}
	b.hold(t, flagKey, "1", 24*time.Hour, old)
	saw := b.read(t, flagKey).Seen

	// A replica takes no writes.
	if err := server.Client.ReplicaOf(t.Context(), "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Release(t.Context(), flagKey, saw); !errors.Is(err, keys.ErrUnavailable) || !errors.Is(err, keys.ErrRefused) || !strings.Contains(err.Error(), "READONLY") {
		t.Errorf("release on a replica: got %v, want ErrRefused with READONLY", err)
	}
	if err := server.Client.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}

	server.Kill(t)
	if k, err := b.Read(t.Context(), flagKey); !errors.Is(err, keys.ErrUnavailable) {
		t.Errorf("read: got %+v, %v, want ErrUnavailable", k, err)
	}
	if r, _, err := b.Release(t.Context(), flagKey, saw); !errors.Is(err, keys.ErrUnavailable) {
		t.Errorf("release: got %q, %v, want ErrUnavailable", r, err)
	}
	if _, next, err := b.Reports(t.Context(), "5-0", time.Millisecond); !errors.Is(err, keys.ErrUnavailable) || next != "5-0" {
		t.Errorf("reports: got %q, %v, want ErrUnavailable at the same position", next, err)
	}
	if err := b.Ping(t.Context()); !errors.Is(err, keys.ErrUnavailable) {
		t.Errorf("ping: got %v, want ErrUnavailable", err)
	}
	server.Start(t)
	if got := b.read(t, flagKey); got.State != keys.Held {
		t.Errorf("after the restart it is %s, want held", got.State)
	}
}

// Releases must still be possible when Redis is full: then they are needed.
func TestReleaseWorksWhileRedisIsFull(t *testing.T) {
	t.Parallel()
	server := redistest.Private(t)
	b := bundle{keys.NewRegistry(server.Client, spaces), server.Client}
	b.hold(t, flagKey, "1", 24*time.Hour, old)
	saw := b.read(t, flagKey).Seen
	if err := server.Client.ConfigSet(t.Context(), "maxmemory", "1mb").Err(); err != nil {
		t.Fatal(err)
	}
	if err := server.Client.Set(t.Context(), "other", "x", 0).Err(); err == nil || !strings.HasPrefix(err.Error(), "OOM") {
		t.Fatalf("the server is not full: %v", err)
	}
	if got, _, err := b.Release(t.Context(), flagKey, saw); err != nil || got != keys.Released {
		t.Errorf("got %s, %v, want released", got, err)
	}
}

// Before 7.0 Redis has no PEXPIRETIME; ACLs take the command away likewise.
func TestOlderRedisIsReadByWhatIsLeft(t *testing.T) {
	t.Parallel()
	server := redistest.Private(t)
	rename := server.Client.Do(t.Context(), "ACL", "SETUSER", "old", "on", "nopass", "~*", "&*", "+@all", "-pexpiretime")
	if err := rename.Err(); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("old", "x")
	client, err := keys.Connect(t.Context(), keys.Options{URLs: []string{u.String()}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	b := bundle{keys.NewRegistry(client, spaces), server.Client}
	b.hold(t, statusKey, "PROCESSING", 10*time.Minute, old)
	k := b.read(t, statusKey)
	if age, known := k.Age(); !known || age < old || age > old+30*time.Second {
		t.Errorf("age is %v, %v, want about %v", age, known, old)
	}
	b.hold(t, statusKey, "PROCESSING", 10*time.Minute, old+time.Second)
	if got, _, err := b.Release(t.Context(), statusKey, k.Seen); err != nil || got != keys.Reacquired {
		t.Errorf("acquired again: got %s, %v", got, err)
	}
	if got, _, err := b.Release(t.Context(), statusKey, b.read(t, statusKey).Seen); err != nil || got != keys.Released {
		t.Errorf("got %s, %v, want released", got, err)
	}
}

func TestReportsAreReadInOrderAndPassWhatIsNone(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	add := func(values ...any) string {
		id, err := b.redis.XAdd(t.Context(), &redis.XAddArgs{Stream: keys.OutcomeStream, Values: values}).Result()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	add("message_id", "m1", "replay_id", "7", "outcome", "processed", "detail", "a\x00\xff", "at", "2026-03-01T03:10:00Z")
	add("message_id", "m2", "replay_id", "no number", "outcome", "processed")
	add("message_id", "m3", "replay_id", "7", "outcome", "exploded")
	last := add("something", "else")
	reports, next, err := b.Reports(t.Context(), "", time.Second)
	if err != nil || next != last || b.Malformed() != 3 {
		t.Fatalf("next %s, malformed %d, %v: want %s and 3", next, b.Malformed(), err, last)
	}
	at := time.Date(2026, 3, 1, 3, 10, 0, 0, time.UTC)
	if len(reports) != 1 || reports[0].MessageID != "m1" || reports[0].Detail != "a\uFFFD\uFFFD" || !reports[0].At.Equal(at) {
		t.Fatalf("got %+v", reports)
	}
	reports, again, err := b.Reports(t.Context(), next, time.Millisecond)
	if err != nil || again != next || len(reports) != 0 {
		t.Errorf("nothing new: got %v, %s, %v", reports, again, err)
	}
}

func TestConnectSaysWhatIsWrongWithoutTheURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		options keys.Options
	}{
		{"no URL", keys.Options{}},
		{"not a URL", keys.Options{URLs: []string{"http://:secret@host"}}},
		{"two URLs for one server", keys.Options{URLs: []string{"redis://:secret@a:1", "redis://:secret@b:1"}, Mode: "single"}},
		{"unknown mode", keys.Options{URLs: []string{"redis://:secret@a:1"}, Mode: "ring"}},
		{"sentinel without master", keys.Options{URLs: []string{"redis://:secret@a:1"}, Mode: "sentinel"}},
		{"cluster node without port", keys.Options{URLs: []string{"redis://:secret@a:1", "redis://:secret@b"}, Mode: "cluster"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := keys.Connect(t.Context(), tt.options)
			if !errors.Is(err, keys.ErrBadSettings) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want ErrBadSettings without a password", err)
			}
		})
	}
	for _, o := range []keys.Options{
		{URLs: []string{"redis://a:1"}},
		{URLs: []string{"redis://a:1?master_name=m", "redis://b:1"}, Mode: "sentinel"},
		{URLs: []string{"redis://a:1", "redis://b:1"}, Mode: "cluster"},
	} {
		client, err := keys.Connect(t.Context(), o)
		if err != nil {
			t.Errorf("%v: %v", o, err)
			continue
		}
		_ = client.Close()
	}
}

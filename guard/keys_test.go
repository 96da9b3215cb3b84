package guard_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/guard"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/redistest"
)

const pattern = "mq:consumed:pay_success:{business_key}"

var styles = []guard.Style{guard.Status, guard.Flag, guard.Hash}

func newKeys(t *testing.T, client redis.Scripter, o guard.KeyOptions) *guard.Keys {
	t.Helper()
	o.Pattern = pattern
	keys, err := guard.NewKeys(client, o)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func acquire(t *testing.T, k *guard.Keys, businessKey string, want guard.Answer) guard.Claim {
	t.Helper()
	claim, err := k.Acquire(t.Context(), businessKey, "")
	if err != nil {
		t.Fatal(err)
	}
	if claim.Answer != want {
		t.Fatalf("the key of %s says %s, want %s", businessKey, claim.Answer, want)
	}
	return claim
}

func mustBe(t *testing.T, want guard.ClearResult) func(guard.ClearResult, error) {
	return func(got guard.ClearResult, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
	}
}

func TestOneOfAHundredIsFirst(t *testing.T) {
	t.Parallel()
	for _, style := range styles {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			keys := newKeys(t, redistest.New(t).Client, guard.KeyOptions{Style: style})
			var mu sync.Mutex
			answers := map[guard.Answer]int{}
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					claim, err := keys.Acquire(context.Background(), "P1", "")
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Error(err)
					}
					answers[claim.Answer]++
				})
			}
			all.Wait()
			other := guard.HeldByOther
			if style == guard.Flag {
				other = guard.Done
			}
			if diff := cmp.Diff(map[guard.Answer]int{guard.First: 1, other: 99}, answers); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeysReadAsTheConsoleReadsThem(t *testing.T) {
	t.Parallel()
	client := redistest.New(t).Client
	value := func(businessKey string) string {
		t.Helper()
		v, err := client.Get(t.Context(), "mq:consumed:pay_success:"+businessKey).Result()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	status := newKeys(t, client, guard.KeyOptions{})
	claim := acquire(t, status, "status", guard.First)
	if got := value("status"); got != "PROCESSING:"+claim.Token || claim.Token == "" {
		t.Errorf("running status key holds %q", got)
	}
	mustBe(t, guard.Marked)(status.MarkSuccess(t.Context(), claim))
	if got := value("status"); got != "SUCCESS" {
		t.Errorf("finished status key holds %q", got)
	}
	flag := newKeys(t, client, guard.KeyOptions{Style: guard.Flag})
	if claim := acquire(t, flag, "flag", guard.First); value("flag") != "1:"+claim.Token {
		t.Errorf("flag holds %q", value("flag"))
	}
	bare := newKeys(t, client, guard.KeyOptions{Style: guard.Flag, BareFlag: true})
	if acquire(t, bare, "bare", guard.First); value("bare") != "1" {
		t.Errorf("bare flag holds %q", value("bare"))
	}
}

func TestAKeySaysDoneOnceMarked(t *testing.T) {
	t.Parallel()
	for _, style := range styles {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			keys := newKeys(t, redistest.New(t).Client, guard.KeyOptions{Style: style})
			claim := acquire(t, keys, "P1", guard.First)
			mustBe(t, guard.Marked)(keys.MarkSuccess(t.Context(), claim))
			mustBe(t, guard.Marked)(keys.MarkSuccess(t.Context(), claim)) // its reply was lost
			acquire(t, keys, "P1", guard.Done)
			acquire(t, keys, "P2", guard.First)
		})
	}
}

func TestAReleasedKeyIsFree(t *testing.T) {
	t.Parallel()
	for _, style := range styles {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			keys := newKeys(t, redistest.New(t).Client, guard.KeyOptions{Style: style})
			claim := acquire(t, keys, "P1", guard.First)
			mustBe(t, guard.Released)(keys.Release(t.Context(), claim, errors.New("bank down")))
			acquire(t, keys, "P1", guard.First)
		})
	}
}

func TestWordsOfOtherConsumers(t *testing.T) {
	t.Parallel()
	client := redistest.New(t).Client
	hash := func(fields ...string) func(string) error {
		return func(key string) error { return client.HSet(t.Context(), key, fields).Err() }
	}
	text := func(value string) func(string) error {
		return func(key string) error { return client.Set(t.Context(), key, value, time.Hour).Err() }
	}
	tests := []struct {
		name  string
		style guard.Style
		write func(key string) error
		want  guard.Answer
	}{
		{"a bare PROCESSING", guard.Status, text("PROCESSING"), guard.HeldByOther},
		{"SUCCESS with a token", guard.Status, text("SUCCESS:x"), guard.Done},
		{"a word that status does not know", guard.Status, text("1"), guard.Unreadable},
		{"a hash where a status is kept", guard.Status, hash("status", "SUCCESS"), guard.Unreadable},
		{"a hash where a flag is kept", guard.Flag, hash("status", "SUCCESS"), guard.Unreadable},
		{"the articles' flag", guard.Flag, text("1"), guard.Done},
		{"a string where a hash is kept", guard.Hash, text("1"), guard.Unreadable},
		{"a hash without a status", guard.Hash, hash("error", "x"), guard.Unreadable},
		{"a hash that is finished in other words", guard.Hash, hash("status", "FINISHED"), guard.Done},
		{"a hash that runs, without a token", guard.Hash, hash("status", "PROCESSING"), guard.HeldByOther},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			keys := newKeys(t, client, guard.KeyOptions{Style: tt.style})
			businessKey := fmt.Sprint(i)
			key := keys.Key(businessKey)
			if err := tt.write(key); err != nil {
				t.Fatal(err)
			}
			before := client.Dump(t.Context(), key).Val()
			claim := acquire(t, keys, businessKey, tt.want)
			if result, err := keys.Release(t.Context(), claim, nil); err != nil || result != guard.NotOwner {
				t.Errorf("a claim that was never given released the key: %q, %v", result, err)
			}
			if result, err := keys.MarkSuccess(t.Context(), claim); err != nil || (result != guard.NotOwner && tt.want != guard.Done) {
				t.Errorf("a claim that was never given marked the key: %q, %v", result, err)
			}
			if after := client.Dump(t.Context(), key).Val(); after != before {
				t.Error("the key was changed")
			}
		})
	}
}

func TestMarkKeepsTheTTL(t *testing.T) {
	t.Parallel()
	for _, style := range styles {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			client := redistest.New(t).Client
			keys := newKeys(t, client, guard.KeyOptions{Style: style, TTL: time.Hour})
			claim := acquire(t, keys, "P1", guard.First)
			expires := client.PExpireTime(t.Context(), claim.Key).Val()
			if left := client.PTTL(t.Context(), claim.Key).Val(); left <= 59*time.Minute || left > time.Hour {
				t.Fatalf("an hour was asked for, %v are left", left)
			}
			mustBe(t, guard.Marked)(keys.MarkSuccess(t.Context(), claim))
			if after := client.PExpireTime(t.Context(), claim.Key).Val(); after != expires {
				t.Errorf("expiry moved from %v to %v", expires, after)
			}
		})
	}
}

// H1: the articles' script failed at EXPIRE and left hashes without attempts
// and without an end.
func TestH1HashHasAllFieldsAndAnEnd(t *testing.T) {
	t.Parallel()
	client := redistest.New(t).Client
	keys := newKeys(t, client, guard.KeyOptions{Style: guard.Hash, TTL: time.Hour})
	before := client.Time(t.Context()).Val()
	claim, err := keys.Acquire(t.Context(), "P1", "what came")
	if err != nil {
		t.Fatal(err)
	}
	fields := client.HGetAll(t.Context(), claim.Key).Val()
	var ms int64
	if _, err := fmt.Sscan(fields["startTime"], &ms); err != nil || time.UnixMilli(ms).Sub(before).Abs() > time.Minute {
		t.Errorf("startTime %q is not the time in ms (%v)", fields["startTime"], before)
	}
	delete(fields, "startTime")
	want := map[string]string{"status": "PROCESSING", "attempts": "0", "token": claim.Token, "context": "what came"}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if left := client.PTTL(t.Context(), claim.Key).Val(); left <= 0 {
		t.Errorf("TTL is %v", left)
	}
}

// H2: a FAILED hash let nobody in, so its message went round until the TTL.
func TestH2FailedHashIsTakenAgain(t *testing.T) {
	t.Parallel()
	client := redistest.New(t).Client
	keys := newKeys(t, client, guard.KeyOptions{Style: guard.Hash, TTL: time.Hour})
	claim := acquire(t, keys, "P1", guard.First)
	mustBe(t, guard.Released)(keys.Release(t.Context(), claim, errors.New("bank down")))
	mustBe(t, guard.Released)(keys.Release(t.Context(), claim, errors.New("bank down"))) // its reply was lost
	got := client.HMGet(t.Context(), claim.Key, "status", "error", "attempts").Val()
	if diff := cmp.Diff([]any{"FAILED", "bank down", "1"}, got); diff != "" {
		t.Errorf("after the failure (-want +got):\n%s", diff)
	}
	acquire(t, keys, "P1", guard.First)
	got = client.HMGet(t.Context(), claim.Key, "status", "error", "attempts").Val()
	if diff := cmp.Diff([]any{"PROCESSING", nil, "1"}, got); diff != "" {
		t.Errorf("taken again (-want +got):\n%s", diff)
	}
}

// H4: the articles looked first and deleted then, so that two could reset.
func TestH4OneOfManyTakesAFailedHash(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, redistest.New(t).Client, guard.KeyOptions{Style: guard.Hash})
	claim := acquire(t, keys, "P1", guard.First)
	mustBe(t, guard.Released)(keys.Release(t.Context(), claim, nil))
	firsts := make(chan struct{}, 50)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if claim, err := keys.Acquire(context.Background(), "P1", ""); err == nil && claim.Answer == guard.First {
				firsts <- struct{}{}
			}
		})
	}
	all.Wait()
	if len(firsts) != 1 {
		t.Errorf("%d took the failed key, want 1", len(firsts))
	}
}

// H5: marking after the key had expired made a stub without an end.
func TestH5AnExpiredKeyIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	for _, style := range styles {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			client := redistest.New(t).Client
			keys := newKeys(t, client, guard.KeyOptions{Style: style})
			claim := acquire(t, keys, "P1", guard.First)
			client.Del(t.Context(), claim.Key) // as if its time were up
			mustBe(t, guard.Gone)(keys.MarkSuccess(t.Context(), claim))
			mustBe(t, guard.Gone)(keys.Release(t.Context(), claim, errors.New("x")))
			if n := client.Exists(t.Context(), claim.Key).Val(); n != 0 {
				t.Error("the key is there again")
			}
		})
	}
}

// H18: without an owner, a run that is late deletes the key of the next one.
func TestH18SlowRunLeavesTheNextRunsKey(t *testing.T) {
	t.Parallel()
	for _, style := range styles {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			client := redistest.New(t).Client
			keys := newKeys(t, client, guard.KeyOptions{Style: style})
			slow := acquire(t, keys, "P1", guard.First)
			client.Del(t.Context(), slow.Key) // its time is up
			next := acquire(t, keys, "P1", guard.First)
			mustBe(t, guard.NotOwner)(keys.Release(t.Context(), slow, errors.New("late")))
			mustBe(t, guard.NotOwner)(keys.MarkSuccess(t.Context(), slow))
			mustBe(t, guard.Marked)(keys.MarkSuccess(t.Context(), next))
		})
	}
}

// The weakness that BareFlag's doc comment names.
func TestABareFlagHasNoOwner(t *testing.T) {
	t.Parallel()
	client := redistest.New(t).Client
	keys := newKeys(t, client, guard.KeyOptions{Style: guard.Flag, BareFlag: true})
	slow := acquire(t, keys, "P1", guard.First)
	client.Del(t.Context(), slow.Key)
	acquire(t, keys, "P1", guard.First)
	mustBe(t, guard.Released)(keys.Release(t.Context(), slow, errors.New("late")))
}

func TestProbeLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	client := redistest.New(t).Client
	if err := newKeys(t, client, guard.KeyOptions{}).Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are there", n)
	}
}

func TestAFullRedisIsNotServing(t *testing.T) {
	t.Parallel()
	client := redistest.Private(t).Client
	for name, value := range map[string]string{"maxmemory-policy": "noeviction", "maxmemory": "1"} {
		if err := client.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	keys := newKeys(t, client, guard.KeyOptions{})
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatalf("the server should answer: %v", err)
	}
	if err := keys.Probe(t.Context()); err == nil {
		t.Error("the probe calls a full Redis serving")
	}
	if _, err := keys.Acquire(t.Context(), "P1", ""); err == nil {
		t.Error("a key was acquired in a full Redis")
	}
}

func TestWrongKeyOptionsAreNamed(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	for name, o := range map[string]guard.KeyOptions{
		"no business key": {Pattern: "mq:consumed"},
		"two of them":     {Pattern: "{business_key}{business_key}"},
		"unknown style":   {Pattern: pattern, Style: "lock"},
		"no TTL to speak": {Pattern: pattern, TTL: time.Millisecond},
		"bare status":     {Pattern: pattern, BareFlag: true},
	} {
		if _, err := guard.NewKeys(client, o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := guard.NewKeys(nil, guard.KeyOptions{Pattern: pattern}); err == nil {
		t.Error("no client: accepted")
	}
}

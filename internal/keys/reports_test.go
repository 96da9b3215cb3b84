package keys_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

func TestLastReportIsTheStreamsNotTheLastEntry(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	if last, err := b.LastReport(t.Context()); err != nil || last != "0-0" {
		t.Errorf("no stream: %q, %v, want 0-0", last, err)
	}
	id, err := b.redis.XAdd(t.Context(), &redis.XAddArgs{Stream: keys.OutcomeStream, Values: []any{"a", "b"}}).Result()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // also once its entries are trimmed
		if last, err := b.LastReport(t.Context()); err != nil || last != id {
			t.Errorf("last is %q, %v, want %s", last, err, id)
		}
		b.redis.XTrimMaxLen(t.Context(), keys.OutcomeStream, 0)
	}
	b.redis.Set(t.Context(), keys.OutcomeStream, "x", 0)
	if last, err := b.LastReport(t.Context()); err == nil {
		t.Errorf("a string: %q, want an error", last)
	}
}

func TestBeyondComparesPositionsByNumber(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"10-0", "9-0", true},
		{"9-0", "10-0", false},
		{"5-10", "5-9", true},
		{"5-9", "5-10", false},
		{"5-9", "5-9", false},
		{"1-1", "0-0", true},
		{"18446744073709551615-1", "1-1", true},
		{"x", "0-0", false},
		{"5-0", "", false},
	} {
		if got := keys.Beyond(tt.a, tt.b); got != tt.want {
			t.Errorf("%q beyond %q: %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

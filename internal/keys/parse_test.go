package keys

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var now = time.Date(2026, 3, 1, 3, 10, 0, 0, time.UTC)

func TestParseSaysWhatEachStyleCanTell(t *testing.T) {
	t.Parallel()
	started := now.Add(-6 * time.Minute)
	ms := "1772334240000" // started
	in := func(d time.Duration) int64 { return now.Add(d).UnixMilli() }
	attempts := int64(3)
	tests := []struct {
		name  string
		style Style
		raw   raw
		want  Key
	}{
		{"nothing there", Flag, raw{typ: typeNone, expiry: expiryGone}, Key{Type: typeNone, State: Absent}},
		{"gone between two commands", Status, raw{typ: typeString, expiry: expiryGone}, Key{Type: typeNone, State: Absent}},
		{
			"flag", Flag,
			raw{typ: typeString, value: "1", expiry: in(24*time.Hour - 6*time.Minute)},
			Key{Type: typeString, State: Held, Value: "1", Since: started, SinceFrom: "ttl", ExpiresAt: now.Add(24*time.Hour - 6*time.Minute)},
		},
		{"flag with an owner", Flag, raw{typ: typeString, value: "1:worker-7", expiry: expiryNever}, Key{Type: typeString, State: Held, Value: "1:worker-7"}},
		{"flag with any other value", Flag, raw{typ: typeString, value: "{}", expiry: expiryNever}, Key{Type: typeString, State: Held, Value: "{}"}},
		{"lock", Lock, raw{typ: typeString, value: "host-1", expiry: expiryNever}, Key{Type: typeString, State: Held, Value: "host-1"}},
		{"flag of another type", Flag, raw{typ: typeHash, expiry: expiryNever}, Key{Type: typeHash, State: Unreadable, Why: WhyType}},
		{"status of another type", Status, raw{typ: "list", expiry: expiryNever}, Key{Type: "list", State: Unreadable, Why: WhyType}},
		{"status processing", Status, raw{typ: typeString, value: "PROCESSING", expiry: expiryNever}, Key{Type: typeString, State: Processing, Value: "PROCESSING"}},
		{"status processing with an owner", Status, raw{typ: typeString, value: "PROCESSING:a:b", expiry: expiryNever}, Key{Type: typeString, State: Processing, Value: "PROCESSING:a:b"}},
		{"status pending in lower case", Status, raw{typ: typeString, value: "pending", expiry: expiryNever}, Key{Type: typeString, State: Processing, Value: "pending"}},
		{"status success", Status, raw{typ: typeString, value: "SUCCESS", expiry: expiryNever}, Key{Type: typeString, State: Succeeded, Value: "SUCCESS"}},
		{"status finished", Status, raw{typ: typeString, value: "Finished", expiry: expiryNever}, Key{Type: typeString, State: Succeeded, Value: "Finished"}},
		{"status consumed", Status, raw{typ: typeString, value: "CONSUMED", expiry: expiryNever}, Key{Type: typeString, State: Succeeded, Value: "CONSUMED"}},
		{"status failed", Status, raw{typ: typeString, value: "FAILED", expiry: expiryNever}, Key{Type: typeString, State: Failed, Value: "FAILED"}},
		{"status that begins like a known one", Status, raw{typ: typeString, value: "SUCCESSFUL", expiry: expiryNever}, Key{Type: typeString, State: Unreadable, Why: WhyValue, Value: "SUCCESSFUL"}},
		{"status that is empty", Status, raw{typ: typeString, value: "", expiry: expiryNever}, Key{Type: typeString, State: Unreadable, Why: WhyValue}},
		{
			"status with another TTL than the space's", Status,
			raw{typ: typeString, value: "PROCESSING", expiry: in(48 * time.Hour)},
			Key{Type: typeString, State: Processing, Value: "PROCESSING", ExpiresAt: now.Add(48 * time.Hour)},
		},
		{
			"hash processing", Hash,
			raw{typ: typeHash, fields: []*string{new("PROCESSING"), new(ms), new("3"), new("boom"), new("tok")}, context: 1 << 20, expiry: in(time.Minute)},
			Key{
				Type: typeHash, State: Processing, Since: started, SinceFrom: "startTime", ExpiresAt: now.Add(time.Minute), Attempts: &attempts, Error: "boom",
				Fields: map[string]string{"status": "PROCESSING", "startTime": ms, "attempts": "3", "error": "boom", "token": "tok", "context": "1048576 bytes"},
			},
		},
		{
			"hash without attempts", Hash,
			raw{typ: typeHash, fields: []*string{new("PROCESSING"), new(ms), nil, nil, nil}, expiry: expiryNever},
			Key{Type: typeHash, State: Processing, Since: started, SinceFrom: "startTime", Fields: map[string]string{"status": "PROCESSING", "startTime": ms}},
		},
		{
			"hash without status", Hash,
			raw{typ: typeHash, fields: []*string{nil, new(ms), nil, nil, nil}, expiry: expiryNever},
			Key{Type: typeHash, State: Unreadable, Why: WhyNoStatus, Fields: map[string]string{"startTime": ms}},
		},
		{
			"hash with an unknown status", Hash,
			raw{typ: typeHash, fields: []*string{new("DONE?"), new(ms), nil, nil, nil}, expiry: expiryNever},
			Key{Type: typeHash, State: Unreadable, Why: WhyValue, Fields: map[string]string{"status": "DONE?", "startTime": ms}},
		},
		{
			"hash processing without startTime", Hash,
			raw{typ: typeHash, fields: []*string{new("PROCESSING"), nil, nil, nil, nil}, expiry: expiryNever},
			Key{Type: typeHash, State: Unreadable, Why: WhyNoStart, Fields: map[string]string{"status": "PROCESSING"}},
		},
		{
			"hash whose startTime is no number", Hash,
			raw{typ: typeHash, fields: []*string{new("PROCESSING"), new("soon"), nil, nil, nil}, expiry: expiryNever},
			Key{Type: typeHash, State: Unreadable, Why: WhyStartTime, Fields: map[string]string{"status": "PROCESSING", "startTime": "soon"}},
		},
		{
			"hash whose startTime is in seconds", Hash,
			raw{typ: typeHash, fields: []*string{new("PROCESSING"), new("1772334240"), nil, nil, nil}, expiry: expiryNever},
			Key{Type: typeHash, State: Unreadable, Why: WhyStartTime, Fields: map[string]string{"status": "PROCESSING", "startTime": "1772334240"}},
		},
		{
			"hash marked done after it expired", Hash,
			raw{typ: typeHash, fields: []*string{new("SUCCESS"), nil, nil, nil, nil}, expiry: expiryNever},
			Key{Type: typeHash, State: Succeeded, Fields: map[string]string{"status": "SUCCESS"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := Space{Name: "pay", Style: tt.style, TTL: 24 * time.Hour, StuckAfter: 5 * time.Minute}
			tt.raw.now = now
			want := tt.want
			want.Name, want.Space, want.ReadAt = "k", "pay", now
			got := parse(s, "k", tt.raw)
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Key{}, "Seen"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("key (-want +got):\n%s", diff)
			}
			if !ValidSeen(got.Seen) {
				t.Errorf("token %q is not valid", got.Seen)
			}
		})
	}
}

func TestStuckOnlyBeyondTheLimit(t *testing.T) {
	t.Parallel()
	s := Space{StuckAfter: 5 * time.Minute}
	tests := []struct {
		name string
		age  time.Duration
		want bool
	}{
		{"a second before", 5*time.Minute - time.Second, false},
		{"at the limit", 5 * time.Minute, false},
		{"a second after", 5*time.Minute + time.Second, true},
		{"from the future", -time.Hour, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := Key{State: Processing, Since: now.Add(-tt.age), ReadAt: now}
			if got := k.Stuck(s); got != tt.want {
				t.Errorf("stuck is %v, want %v", got, tt.want)
			}
		})
	}
	if (Key{State: Processing, ReadAt: now}).Stuck(s) {
		t.Error("a key of unknown age is stuck")
	}
}

func TestBusinessKeyIsFoundByThePattern(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, pattern, key, want string
		ok                       bool
	}{
		{"at the end", "mq:consumed:{business_key}", "mq:consumed:O1", "O1", true},
		{"in the middle", "mq:{business_key}:lock", "mq:O:1:lock", "O:1", true},
		{"beside a hash tag", "mq:{pay}:{business_key}", "mq:{pay}:O1", "O1", true},
		{"empty", "mq:consumed:{business_key}", "mq:consumed:", "", false},
		{"prefix and suffix overlap", "ab{business_key}bc", "abc", "", false},
		{"another prefix", "mq:consumed:{business_key}", "mq:lock:O1", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := Space{Pattern: tt.pattern}
			got, ok := s.BusinessKeyOf(tt.key)
			if got != tt.want || ok != tt.ok {
				t.Fatalf("got %q, %v, want %q, %v", got, ok, tt.want, tt.ok)
			}
			if ok && s.KeyOf(got) != tt.key {
				t.Errorf("the way back gives %q", s.KeyOf(got))
			}
		})
	}
}

func TestMoreSpecificPatternWins(t *testing.T) {
	t.Parallel()
	r := NewRegistry(nil, []Space{{Name: "all", Pattern: "mq:{business_key}"}, {Name: "pay", Pattern: "mq:pay:{business_key}"}})
	if s, ok := r.SpaceOf("mq:pay:1"); !ok || s.Name != "pay" {
		t.Errorf("space of mq:pay:1 is %q, want pay", s.Name)
	}
	if s, ok := r.SpaceOf("mq:1"); !ok || s.Name != "all" {
		t.Errorf("space of mq:1 is %q, want all", s.Name)
	}
	if got := r.Spaces(); len(got) != 2 || got[0].Name != "all" || got[0].StuckAfter != 5*time.Minute {
		t.Errorf("spaces are %v: want the configured order, with the default limit", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("flag", "1", "", "", int64(-1))
	f.Add("status", "PROCESSING:tok", "", "", int64(1772334240000))
	f.Add("hash", "SUCCESS", "1772334240000", "2", int64(-2))
	f.Add("hash", "\xff\x00", "99999999999999999999", "-", int64(1<<62))
	f.Fuzz(func(t *testing.T, style, value, start, attempts string, expiry int64) {
		s := Space{Style: Style(style), TTL: time.Hour, StuckAfter: time.Minute}
		r := raw{
			typ: s.redisType(), value: value, size: int64(len(value)), expiry: expiry, now: now,
			fields: []*string{&value, &start, &attempts, nil, nil},
		}
		k := parse(s, "k", r)
		if !ValidSeen(k.Seen) && expiry >= expiryGone {
			t.Errorf("token %q is not valid", k.Seen)
		}
		shown := k.Value + k.Error
		for _, v := range k.Fields {
			shown += v
		}
		if strings.ContainsRune(shown, 0) || strings.ToValidUTF8(shown, "") != shown {
			t.Errorf("%q is not fit for text", shown)
		}
		if k.Stuck(s) && k.State != Processing {
			t.Error("stuck without processing")
		}
	})
}

func FuzzSeen(f *testing.F) {
	f.Add("")
	f.Add(seen{Type: "string", Print: "ab", Expiry: -1}.encode())
	f.Add("eyJ0Ijoic3RyaW5nIiwiZSI6MX0")
	f.Fuzz(func(t *testing.T, token string) {
		s, err := decodeSeen(token)
		if err == nil && s.encode() != token {
			t.Errorf("%q decodes to %v, which is %q", token, s, s.encode())
		}
	})
}

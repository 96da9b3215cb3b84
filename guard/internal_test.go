package guard

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/redistest"
)

// H8: the count is our own header, whatever number type a client wrote.
func TestH8FailedRunsOfAnyNumberType(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value any
		want  int
	}{
		{nil, 0},
		{int8(3), 3},
		{uint8(3), 3},
		{int16(3), 3},
		{uint16(3), 3},
		{int32(3), 3},
		{int64(3), 3},
		{float32(3), 3},
		{float64(3), 3},
		{amqp.Decimal{Scale: 1, Value: 30}, 3},
		{"3", 3},
		{int64(-1), 0},
		{"three", 0},
		{true, 0},
		{math.NaN(), 0},
		{math.Inf(1), math.MaxInt32},
		{int64(math.MaxInt64), math.MaxInt32},
		{[]any{int64(3)}, 0},
	}
	for _, tt := range tests {
		if got := failedRuns(amqp.Table{HeaderRetryCount: tt.value}); got != tt.want {
			t.Errorf("%T(%v): %d, want %d", tt.value, tt.value, got, tt.want)
		}
	}
	deaths := []any{amqp.Table{"count": int64(50), "queue": "q", "reason": "rejected"}}
	if got := failedRuns(amqp.Table{"x-death": deaths}); got != 0 {
		t.Errorf("x-death was counted: %d", got)
	}
}

func TestLadderGoesTierByTier(t *testing.T) {
	t.Parallel()
	a, b, c, end := Address{"x", "a"}, Address{"x", "b"}, Address{"x", "c"}, Address{"x", "end"}
	l := Ladder{Tiers: []Address{a, b, c}, Terminal: end, Max: 5}
	for failed, want := range map[int]Address{1: a, 2: b, 3: c, 4: c, 5: end, 6: end, 1000: end} {
		if got := l.next(failed, errors.New("x")); got != want {
			t.Errorf("after %d failed runs: %v, want %v", failed, got, want)
		}
	}
	for name, err := range map[string]error{
		"unrecoverable":     Unrecoverable(errors.New("x")),
		"refused":           Refused("order state", errors.New("x")),
		"wrapped by others": fmt.Errorf("pay: %w", Unrecoverable(errors.New("x"))),
	} {
		if got := l.next(1, err); got != end {
			t.Errorf("%s: %v, want the terminal address", name, got)
		}
	}
	if err := l.check(); err != nil {
		t.Error(err)
	}
	for name, wrong := range map[string]Ladder{
		"no terminal": {Tiers: l.Tiers, Max: 5}, "no tiers": {Terminal: end, Max: 2}, "no runs": {Tiers: l.Tiers, Terminal: end},
	} {
		if wrong.check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestCopyKeepsWhatCameAndDropsWhatWouldHarm(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_796_081_603, 0)
	d := amqp.Delivery{
		Exchange: "ex.pay", RoutingKey: "pay.success", Body: []byte{0xff, 0}, ContentType: "application/json",
		ContentEncoding: "gzip", Priority: 3, CorrelationId: "c", ReplyTo: "r", Expiration: "60000", MessageId: "m",
		Timestamp: at, Type: "t", UserId: "somebody", AppId: "a", DeliveryMode: amqp.Transient,
		Headers: amqp.Table{
			"keep": int16(7), "CC": []any{"elsewhere"}, "BCC": []any{"elsewhere"},
			"x-delivery-count": int64(19), "x-acquired-count": int64(19), "x-death": []any{amqp.Table{"count": int64(2)}},
		},
	}
	cause := Typed("BANK_TIMEOUT", errors.New("no answer"))
	want := amqp.Publishing{
		Body: []byte{0xff, 0}, ContentType: "application/json", ContentEncoding: "gzip", Priority: 3, CorrelationId: "c",
		ReplyTo: "r", MessageId: "m", Timestamp: at, Type: "t", AppId: "a", DeliveryMode: amqp.Persistent,
		Headers: amqp.Table{
			"keep": int16(7), "x-death": []any{amqp.Table{"count": int64(2)}},
			"x-retry-count": int64(1), "x-original-queue": "q.pay.success", "x-original-exchange": "ex.pay",
			"x-original-routingKey": "pay.success", "x-exception-type": "BANK_TIMEOUT", "x-exception-message": "no answer",
		},
	}
	if diff := cmp.Diff(want, climb(d, "q.pay.success", 1, cause)); diff != "" {
		t.Errorf("first rung (-want +got):\n%s", diff)
	}
	if len(d.Headers) != 6 {
		t.Error("the delivery's own headers were changed")
	}

	d = amqp.Delivery{Exchange: "ex.pay.retry", RoutingKey: "back", Headers: want.Headers}
	later := climb(d, "q.pay.success", 2, Typed("BALANCE_NOT_ENOUGH", errors.New("too poor"))).Headers
	if later["x-original-exchange"] != "ex.pay" || later["x-original-routingKey"] != "pay.success" {
		t.Errorf("the origin was lost on a later rung: %v", later)
	}
	if later["x-exception-type"] != "BALANCE_NOT_ENOUGH" || later["x-retry-count"] != int64(2) {
		t.Errorf("the last run is not told: %v", later)
	}
	if other := climb(d, "q.other", 1, cause).Headers; other["x-original-queue"] != "q.other" || other["x-original-exchange"] != "ex.pay.retry" {
		t.Errorf("another queue's origin was kept: %v", other)
	}
}

func TestTypeOfAnError(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"NAMED":                 fmt.Errorf("pay: %w", Typed("NAMED", errors.New("x"))),
		"*errors.errorString":   fmt.Errorf("pay: %w", errors.New("x")),
		"guard.KeyHeld":         notOurs(Claim{Answer: HeldByOther}),
		"guard.KeyUnreadable":   notOurs(Claim{Answer: Unreadable}),
		"guard.NoBusinessKey":   noBusinessKey(nil),
		"guard.Panic":           guarded(func() error { panic("x") }),
		"ILLEGAL_ORDER_STATUS":  Refused("order state", Typed("ILLEGAL_ORDER_STATUS", errors.New("x"))),
		"*guard.textualMistake": Unrecoverable(&textualMistake{}),
	} {
		if got := typeOf(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

type textualMistake struct{}

func (*textualMistake) Error() string { return "x" }

func TestBoundedTextIsCleanAndShort(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "nul\x00byte", "\xff\xfe", strings.Repeat("语", 1000), strings.Repeat("a", 5000)} {
		got := bounded(s, maxMessage)
		if len(got) > maxMessage || !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Errorf("%.20q became %d bytes, valid %v", s, len(got), utf8.ValidString(got))
		}
	}
	if got := bounded("plain", maxMessage); got != "plain" {
		t.Errorf("plain text became %q", got)
	}
}

// The client asks again when a reply was lost; the same call must not find its
// own key to be another run's.
func TestTheSameCallIsFirstTwice(t *testing.T) {
	t.Parallel()
	client := redistest.New(t).Client
	for _, style := range []Style{Status, Flag, Hash} {
		keys, err := NewKeys(client, KeyOptions{Pattern: string(style) + ":{business_key}", Style: style})
		if err != nil {
			t.Fatal(err)
		}
		claim := Claim{Key: keys.Key("P1"), Token: "t"}
		for range 2 {
			if answer, err := keys.acquire(t.Context(), claim, ""); err != nil || answer != First {
				t.Errorf("%s: %s, %v", style, answer, err)
			}
		}
	}
}

func TestBackoffGrowsToItsLimit(t *testing.T) {
	t.Parallel()
	b := Backoff{Min: 100 * time.Millisecond, Max: time.Second}
	for n, want := range map[int]time.Duration{0: 100, 1: 200, 2: 400, 3: 800, 4: 1000, 5: 1000, 63: 1000, 64: 1000, 10_000: 1000} {
		want *= time.Millisecond
		if got := b.after(n); got > want || got < want*4/5 {
			t.Errorf("after try %d: %v, want %v less at most a fifth", n, got, want)
		}
	}
}

func FuzzBodyField(f *testing.F) {
	for _, seed := range []string{`{"orderNo":"P1"}`, `{"orderNo":12}`, `{"orderNo":null}`, `[]`, "\xff", ``, `{"orderNo":{"a":1}}`, `{"orderNo":1e400}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		key, err := BodyField("orderNo")(amqp.Delivery{Body: body})
		if err != nil && key != "" {
			t.Errorf("a key and an error: %q, %v", key, err)
		}
	})
}

func TestBodyField(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"orderNo":"P1"}`: "P1", `{"orderNo": 12345678901234567890 }`: "12345678901234567890", `{"orderNo":""}`: "",
	} {
		if got, err := BodyField("orderNo")(amqp.Delivery{Body: []byte(body)}); err != nil || got != want {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
	for _, body := range []string{``, `null`, `{}`, `{"orderNo":null}`, `{"orderNo":true}`, `{"orderNo":["P1"]}`, "\xff"} {
		if got, err := BodyField("orderNo")(amqp.Delivery{Body: []byte(body)}); err == nil {
			t.Errorf("%s: %q, want an error", body, got)
		}
	}
}

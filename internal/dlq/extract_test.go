package dlq

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

var arrival = time.Date(2026, 3, 1, 3, 10, 0, 0, time.UTC)

// died is one entry of x-death as a broker writes it.
func died(queue, reason string, count int64, at time.Time) rabbit.Table {
	return rabbit.Table{
		"queue": queue, "reason": reason, "count": count, "time": at,
		"exchange": "ex.pay", "routing-keys": []any{"pay." + queue, "cc.key"},
	}
}

func TestExtract(t *testing.T) {
	t.Parallel()
	hour := arrival.Add(-time.Hour)
	terminal := Source{Queue: "q.terminal"}
	tests := []struct {
		name    string
		source  Source
		headers rabbit.Table
		want    Facts
	}{
		{"nothing is known", terminal, nil, Facts{Reason: NoReason}},
		{
			"rejected once: only the broker left word", terminal,
			rabbit.Table{"x-death": []any{died("q.pay", "rejected", 1, hour)}},
			Facts{
				Reason: Rejected, Failure: Failure{Extractor: "x-death"},
				RetryCount: new(int64(1)), RetryCountSource: "x-death",
				Original:    Origin{"q.pay", new("ex.pay"), new("pay.q.pay"), "x-death"},
				FirstDiedAt: hour, DiedAt: hour,
			},
		},
		{
			"the newest entry is a wait queue's, the message was consumed elsewhere", terminal,
			rabbit.Table{"x-death": []any{
				died("q.wait", "expired", 4, hour.Add(time.Minute)), died("q.pay", "rejected", 5, hour),
			}},
			Facts{
				Reason: Rejected, Failure: Failure{Extractor: "x-death"},
				RetryCount: new(int64(5)), RetryCountSource: "x-death",
				Original:    Origin{"q.pay", new("ex.pay"), new("pay.q.pay"), "x-death"},
				FirstDiedAt: hour, // the last death's time is not known: its entry stands for four
			},
		},
		{
			"a wait queue that also refuses is no origin while there is another", terminal,
			rabbit.Table{"x-death": []any{
				died("q.wait", "maxlen", 1, hour), died("q.wait", "expired", 1, hour), died("q.pay", "delivery_limit", 1, hour),
			}},
			Facts{
				Reason: DeliveryLimit, Failure: Failure{Extractor: "x-death"},
				RetryCount: new(int64(1)), RetryCountSource: "x-death",
				Original:    Origin{"q.pay", new("ex.pay"), new("pay.q.pay"), "x-death"},
				FirstDiedAt: hour, DiedAt: hour,
			},
		},
		{
			"only expired: the oldest entry is the origin", terminal,
			rabbit.Table{"x-death": []any{died("q.wait", "expired", 1, hour), died("q.pay", "expired", 1, hour)}},
			Facts{
				Reason: Expired, Failure: Failure{Extractor: "x-death"},
				RetryCount: new(int64(1)), RetryCountSource: "x-death",
				Original:    Origin{"q.pay", new("ex.pay"), new("pay.q.pay"), "x-death"},
				FirstDiedAt: hour, DiedAt: hour,
			},
		},
		{
			"the guard's own headers beat a ladder in x-death", terminal,
			rabbit.Table{
				"x-retry-count": int32(5), "x-original-queue": "q.pay", "x-original-exchange": "", "x-original-routingKey": "pay.success",
				"x-exception-type": "bank.Timeout", "x-exception-message": "no answer",
				"x-death": []any{died("q.wait.1m", "expired", 1, hour), died("q.wait.30s", "expired", 1, hour.Add(-time.Minute))},
			},
			Facts{
				Reason: Expired, Failure: Failure{Type: "bank.Timeout", Message: "no answer", Extractor: "guard"},
				RetryCount: new(int64(5)), RetryCountSource: "framework",
				Original:    Origin{"q.pay", new(""), new("pay.success"), "framework"},
				FirstDiedAt: hour.Add(-time.Minute), DiedAt: hour,
			},
		},
		{
			"Spring with a trace: the innermost exception", terminal,
			rabbit.Table{
				"x-exception-message": nil, "x-original-exchange": "ex.pay", "x-original-routingKey": "pay.success",
				"x-exception-stacktrace": "org.springframework.ListenerExecutionFailedException: failed\n\tat a.B\nCaused by: com.acme.Busy: busy\n\tat c.D\nCaused by: java.net.SocketTimeoutException: Read timed out\n\tat e.F",
				"retry-count":            int64(3),
			},
			Facts{
				Reason: NoReason,
				Failure: Failure{
					Type: "java.net.SocketTimeoutException", Extractor: "spring",
					Stack: "org.springframework.ListenerExecutionFailedException: failed\n\tat a.B\nCaused by: com.acme.Busy: busy\n\tat c.D\nCaused by: java.net.SocketTimeoutException: Read timed out\n\tat e.F",
				},
				RetryCount: new(int64(3)), RetryCountSource: "framework",
				Original: Origin{Exchange: new("ex.pay"), RoutingKey: new("pay.success")},
			},
		},
		{
			"Spring of today leaves no trace, so no type", terminal,
			rabbit.Table{"x-exception-message": "boom", "x-death": []any{died("q.pay", "rejected", 2, hour)}},
			Facts{
				Reason: Rejected, Failure: Failure{Message: "boom", Extractor: "spring"},
				RetryCount: new(int64(2)), RetryCountSource: "x-death",
				Original:    Origin{"q.pay", new("ex.pay"), new("pay.q.pay"), "x-death"},
				FirstDiedAt: hour,
			},
		},
		{
			"home-grown names, whatever their case", terminal,
			rabbit.Table{"X-Error-Message": []byte("bad\x00\xff"), "Error_Class": "Oops", "App-Stack-Trace": "at x", "X-Retries": " 7 ", "Original-Queue": "q.home"},
			Facts{
				Reason: NoReason, Failure: Failure{Type: "Oops", Message: "bad\uFFFD\uFFFD", Stack: "at x", Extractor: "generic"},
				RetryCount: new(int64(7)), RetryCountSource: "framework",
				Original: Origin{Queue: "q.home", Evidence: "framework"},
			},
		},
		{
			"what is configured beats every header",
			Source{Queue: "q.terminal", OriginalQueue: "q.fixed"},
			rabbit.Table{"x-original-queue": "q.liar", "x-death": []any{
				died("q.other", "rejected", 9, hour), died("q.fixed", "rejected", 2, hour),
			}},
			Facts{
				Reason: Rejected, Failure: Failure{Extractor: "x-death"},
				RetryCount: new(int64(2)), RetryCountSource: "x-death",
				Original:    Origin{"q.fixed", new("ex.pay"), new("pay.q.fixed"), "configured"},
				FirstDiedAt: hour,
			},
		},
		{
			"deaths in the terminal queue itself do not name the origin", terminal,
			rabbit.Table{"x-death": []any{died("q.terminal", "rejected", 1, hour), died("q.pay", "rejected", 1, hour)}},
			Facts{
				Reason: Rejected, Failure: Failure{Extractor: "x-death"},
				RetryCount: new(int64(1)), RetryCountSource: "x-death",
				Original:    Origin{"q.pay", new("ex.pay"), new("pay.q.pay"), "x-death"},
				FirstDiedAt: hour, DiedAt: hour,
			},
		},
		{
			"only the delivery count is left", terminal,
			rabbit.Table{"x-delivery-count": int64(21)},
			Facts{Reason: NoReason, RetryCount: new(int64(21)), RetryCountSource: "delivery-count"},
		},
		{
			"a history made of text, but the broker's first-death headers", terminal,
			rabbit.Table{"x-death": "[map[count:1]]", "x-first-death-queue": "q.pay", "x-first-death-reason": "expired"},
			Facts{Reason: Expired, Original: Origin{Queue: "q.pay", Evidence: "x-death"}},
		},
		{
			"times that cannot be are unknown", terminal,
			rabbit.Table{"x-death": []any{died("q.pay", "rejected", 1, time.Unix(0, 0)), died("q.far", "rejected", 1, arrival.AddDate(40000, 0, 0))}},
			Facts{
				Reason: Rejected, Failure: Failure{Extractor: "x-death"},
				RetryCount: new(int64(1)), RetryCountSource: "x-death",
				Original:  Origin{"q.pay", new("ex.pay"), new("pay.q.pay"), "x-death"},
				ClockSaid: "1970-01-01T00:00:00Z",
			},
		},
		{
			"a reason that no broker has, and counts that overflow", terminal,
			rabbit.Table{"x-death": []any{died("q.pay", "delivery-limit", math.MaxInt64, hour), died("q.pay", "rejected", math.MaxInt64, hour)}},
			Facts{
				Reason: Rejected, Failure: Failure{Extractor: "x-death"},
				RetryCount: new(int64(math.MaxInt64)), RetryCountSource: "x-death",
				Original:    Origin{"q.pay", new("ex.pay"), new("pay.q.pay"), "x-death"},
				FirstDiedAt: hour,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Extract(rabbit.Delivery{Headers: tt.headers}, tt.source, arrival)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExtractBoundsWhatIsDerived(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("错", 100_000)
	f := Extract(rabbit.Delivery{Headers: rabbit.Table{
		"x-exception-type": long, "x-exception-message": long, "x-original-queue": long, "x-original-routingKey": long,
	}}, Source{}, arrival)

	if n := len(f.Failure.Type); n > maxFailureType || n < maxFailureType-3 || !clean(f.Failure.Type) {
		t.Errorf("type has %d bytes, want about %d of whole characters", n, maxFailureType)
	}
	if n := len(f.Failure.Message); n > maxFailureMessage || n < maxFailureMessage-3 {
		t.Errorf("message has %d bytes, want about %d", n, maxFailureMessage)
	}
	if f.Original.Queue != "" || f.Original.RoutingKey != nil {
		t.Errorf("origin %+v: a name longer than AMQP allows is none", f.Original)
	}
}

func TestCountsOfAnyType(t *testing.T) {
	t.Parallel()
	counts := map[string]any{
		"int8": int8(3), "uint8": uint8(3), "int16": int16(3), "uint16": uint16(3), "int32": int32(3), "uint32": uint32(3),
		"int64": int64(3), "float32": float32(3), "float64": float64(3), "text": "3", "text with a point": "3.0", "bytes": []byte(" 3"),
	}
	for name, value := range counts {
		if n := countOf(value); n == nil || *n != 3 {
			t.Errorf("%s: %v, want 3", name, n)
		}
	}
	for name, value := range map[string]any{
		"negative": int32(-1), "fraction": 2.5, "NaN": math.NaN(), "infinite": math.Inf(1), "too large": 1e300,
		"void": nil, "bool": true, "words": "three", "table": rabbit.Table{}, "array": []any{int64(3)}, "no text": "",
	} {
		if n := countOf(value); n != nil {
			t.Errorf("%s: %d, want none", name, *n)
		}
	}
}

func TestHeadersToRemoveLeavesWhySomethingFailed(t *testing.T) {
	t.Parallel()
	h := rabbit.Table{}
	for _, name := range []string{
		"x-death", "x-first-death-queue", "x-last-death-reason", "x-delivery-count", "x-acquired-count", "CC", "BCC",
		"x-delay", "x-retry-count", "retry-count", "NServiceBus.Retries.Timestamp",
		"cc", "x-exception-type", "x-exception-message", "x-original-queue", "x-request-id", "dlo-message-id", "retries",
	} {
		h[name] = "v"
	}
	want := []string{
		"BCC", "CC", "NServiceBus.Retries.Timestamp", "retry-count", "x-acquired-count", "x-death", "x-delay",
		"x-delivery-count", "x-first-death-queue", "x-last-death-reason", "x-retry-count",
	}
	if diff := cmp.Diff(want, UnitOf(Life{Headers: h}, nil, arrival).Removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
}

// shapes makes header values of every kind out of fuzzed parts.
func shapes(kind uint8, s string, n int64) any {
	switch kind % 12 {
	case 0:
		return s
	case 1:
		return []byte(s)
	case 2:
		return n
	case 3:
		return int8(n)
	case 4:
		return float64(n) / 3
	case 5:
		return nil
	case 6:
		return time.Unix(n, 0)
	case 7:
		return []any{s, n, nil, rabbit.Table{s: n}}
	case 8:
		return rabbit.Table{s: []any{n}}
	case 9:
		return []any{rabbit.Table{"queue": s, "count": n, "reason": "rejected", "time": time.Unix(n, 0), "routing-keys": []any{s}}}
	case 10:
		return []any{rabbit.Table{"queue": s, "count": s, "reason": n, "time": n, "exchange": nil, "routing-keys": s}, "x"}
	}
	return n%2 == 0
}

func FuzzExtract(f *testing.F) {
	f.Add("x-death", uint8(9), "q", int64(3), "x-exception-stacktrace", uint8(0), "Caused by: a.B: c")
	f.Add("x-retry-count", uint8(4), "-1", int64(-9), "error", uint8(1), "\xff\x00")
	f.Fuzz(func(t *testing.T, name string, kind uint8, s string, n int64, name2 string, kind2 uint8, s2 string) {
		d := rabbit.Delivery{Headers: rabbit.Table{name: shapes(kind, s, n), name2: shapes(kind2, s2, n)}, Body: []byte(s)}
		facts := Extract(d, Source{Queue: "q.t", BusinessKey: []KeyFinder{{Header: name}, {Body: "$..*"}}}, arrival)
		for _, text := range []string{
			facts.BusinessKey, facts.Failure.Type, facts.Failure.Message, facts.Failure.Stack, facts.Original.Queue,
		} {
			if !clean(text) {
				t.Errorf("%q is not what a text column takes", text)
			}
		}
		if (facts.RetryCount == nil) != (facts.RetryCountSource == "") {
			t.Errorf("retry count %v from %q", facts.RetryCount, facts.RetryCountSource)
		}
		if facts.RetryCount != nil && *facts.RetryCount < 0 {
			t.Errorf("retry count %d", *facts.RetryCount)
		}
		if facts.DiedAt.After(arrival.Add(25 * time.Hour)) {
			t.Errorf("died at %v", facts.DiedAt)
		}
		UnitOf(Life{Headers: d.Headers}, d.Body, arrival)
	})
}

// What a replay publishes to must be what the message came by, byte for byte.
func TestNamesThatAreNoCleanTextAreNoneToPublishTo(t *testing.T) {
	t.Parallel()
	odd := "key\xff"
	entry := func(exchange, key any) rabbit.Table {
		d := died("q.pay", "rejected", 1, arrival)
		d["exchange"], d["routing-keys"] = exchange, []any{key}
		return rabbit.Table{"x-death": []any{d}}
	}
	for name, h := range map[string]rabbit.Table{
		"the broker's key": entry("ex.pay", odd),
		"a NUL in it":      entry("ex.pay", "key\x00"),
		"a header's key":   {"x-original-queue": "q.pay", "x-original-exchange": "ex.pay", "x-original-routingKey": odd},
		"bytes":            {"x-original-queue": "q.pay", "x-original-exchange": "ex.pay", "x-original-routingKey": []byte(odd)},
		"a home-grown one": {"Original-Queue": "q.pay", "Original-Exchange": "ex.pay", "Original-Routing-Key": odd},
	} {
		o := Extract(rabbit.Delivery{Headers: h}, Source{Name: "pay", Queue: "q.terminal"}, arrival).Original
		if o.Queue != "q.pay" || o.Exchange == nil || *o.Exchange != "ex.pay" || o.RoutingKey != nil {
			t.Errorf("%s: origin %+v, want the queue and the exchange, and no routing key", name, o)
		}
	}
	o := Extract(rabbit.Delivery{Headers: entry(odd, "käse")}, Source{Name: "pay", Queue: "q.terminal"}, arrival).Original
	if o.Exchange != nil || o.RoutingKey == nil || *o.RoutingKey != "käse" {
		t.Errorf("origin %+v, want no exchange, and the routing key as it is", o)
	}
}

package rabbit_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

func TestHeadersKeepEveryTypeAndValue(t *testing.T) {
	t.Parallel()
	want := everyType()
	want[strings.Repeat("n", 255)] = "the longest name"
	checkHeaders(t, want)
	for seed := range uint64(2000) {
		checkHeaders(t, rabbittest.RandomTable(rand.New(rand.NewPCG(seed, 1)), 4))
	}
}

// checkHeaders fails the test unless want comes back the same from its bytes,
// and gives the same bytes again.
func checkHeaders(t *testing.T, want rabbit.Table) {
	t.Helper()
	data, err := rabbit.EncodeHeaders(want)
	if err != nil {
		t.Fatalf("encode %#v: %v", want, err)
	}
	got, err := rabbit.DecodeHeaders(data)
	if err != nil {
		t.Fatalf("decode % x: %v", data, err)
	}
	if !rabbittest.SameOnTheWire(want, got) {
		t.Fatalf("% x decoded as %#v; want %#v", data, got, want)
	}
	if again, err := rabbit.EncodeHeaders(got); err != nil || !bytes.Equal(again, data) {
		t.Fatalf("encoded again: % x, %v; want % x", again, err, data)
	}
}

func TestHeadersAreBytesOfAMQP(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value any
		want  string
	}{
		{nil, "V"},
		{true, "t\x01"},
		{false, "t\x00"},
		{int8(-1), "b\xff"},
		{uint8(255), "B\xff"},
		{int16(-2), "s\xff\xfe"},
		{uint16(2), "u\x00\x02"},
		{int32(-2), "I\xff\xff\xff\xfe"},
		{7, "I\x00\x00\x00\x07"},
		{uint32(2), "i\x00\x00\x00\x02"},
		{int64(-2), "l\xff\xff\xff\xff\xff\xff\xff\xfe"},
		{1 << 40, "l\x00\x00\x01\x00\x00\x00\x00\x00"},
		{float32(1), "f\x3f\x80\x00\x00"},
		{1.0, "d\x3f\xf0\x00\x00\x00\x00\x00\x00"},
		{amqp.Decimal{Scale: 2, Value: -1}, "D\x02\xff\xff\xff\xff"},
		{"a\x00", "S\x00\x00\x00\x02a\x00"},
		{[]byte("a"), "x\x00\x00\x00\x01a"},
		{time.Unix(2, 9), "T\x00\x00\x00\x00\x00\x00\x00\x02"},
		{[]any{nil, "a"}, "A\x00\x00\x00\x07VS\x00\x00\x00\x01a"},
		{[]any(nil), "A\x00\x00\x00\x00"},
		{rabbit.Table{"b": nil, "a": true}, "F\x00\x00\x00\x07\x01at\x01\x01bV"},
		{rabbit.Table(nil), "F\x00\x00\x00\x00"},
	}
	for _, tt := range tests {
		got, err := rabbit.EncodeHeaders(rabbit.Table{"h": tt.value})
		if want := longstr("\x01h" + tt.want); err != nil || string(got) != want {
			t.Errorf("%#v: got %q, %v; want %q", tt.value, got, err, want)
		}
	}
}

// longstr puts the length of s in front of it, as AMQP does.
func longstr(s string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func TestNoHeadersAreAnEmptyTable(t *testing.T) {
	t.Parallel()
	for _, table := range []rabbit.Table{nil, {}} {
		if got, err := rabbit.EncodeHeaders(table); err != nil || string(got) != "\x00\x00\x00\x00" {
			t.Errorf("got % x, %v; want four zeros", got, err)
		}
	}
	if got, err := rabbit.DecodeHeaders(nil); err != nil || got != nil {
		t.Errorf("no bytes: got %v, %v; want no table", got, err)
	}
}

func TestAppendHeadersKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	got, err := rabbit.AppendHeaders([]byte("there"), rabbit.Table{"a": nil})
	if err != nil || string(got) != "there"+longstr("\x01aV") {
		t.Errorf("got %q, %v", got, err)
	}
	got, err = rabbit.AppendHeaders([]byte("there"), rabbit.Table{"a": nil, "b": uint64(1)})
	if err == nil || string(got) != "there" {
		t.Errorf("got %q, %v; want what was there, and an error", got, err)
	}
}

func TestHeadersThatAMQPCannotHoldAreErrors(t *testing.T) {
	t.Parallel()
	_, err := rabbit.EncodeHeaders(rabbit.Table{"ok": "x", "list": []any{rabbit.Table{"n": uint64(1)}}})
	if err == nil || !strings.Contains(err.Error(), `"list": element 0: "n": AMQP has no type for uint64`) {
		t.Errorf("got %v; want the place and the type", err)
	}
	_, err = rabbit.EncodeHeaders(rabbit.Table{strings.Repeat("n", 256): "x"})
	if err == nil || !strings.Contains(err.Error(), "a name is 256 bytes long") {
		t.Errorf("got %v; want that the name is too long", err)
	}
}

func TestTheLastOfTwoHeadersWithOneNameWins(t *testing.T) {
	t.Parallel()
	got, err := rabbit.DecodeHeaders([]byte(longstr("\x01aB\x01\x01aB\x02")))
	if diff := cmp.Diff(rabbit.Table{"a": uint8(2)}, got); err != nil || diff != "" {
		t.Errorf("%v, decoded headers (-want +got):\n%s", err, diff)
	}
}

func TestDamagedHeadersAreErrors(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		"\x00", "\x00\x00\x00\x01", "\x00\x00\x00\x00x", "\xff\xff\xff\xff",
		longstr("\x01"), longstr("\x01a"), longstr("\x01aL12345678"), longstr("\x01aB"), longstr("\x01al1234567"),
		longstr("\x01aS\x00\x00\x00"), longstr("\x01aS\x00\x00\x00\x02a"), longstr("\x01aS\xff\xff\xff\xffa"),
		longstr("\x01ax\x00\x00\x00\x02a"), longstr("\x01aA\x00\x00\x00\x02V"), longstr("\x01aA\x00\x00\x00\x01S"),
		longstr("\x01aF\x00\x00\x00\x01\x01bV"), longstr("\x01aF\x00\x00\x00\x02\x01b"), longstr("\x01aD\x00\x00\x00\x00"),
		longstr("\x01aA\x00\x00\x00\x05S\x00\x00\x00\x01b"),
		nested(1001),
	} {
		if got, err := rabbit.DecodeHeaders([]byte(data)); err == nil {
			t.Errorf("decoded %.40q as %v; want an error", data, got)
		}
	}
	if _, err := rabbit.DecodeHeaders([]byte(nested(1000))); err != nil {
		t.Errorf("1000 levels: %v", err)
	}
}

// nested is a table that holds n arrays, one in the other.
func nested(n int) string {
	value := "V"
	for range n {
		value = "A" + longstr(value)
	}
	return longstr("\x01a" + value)
}

func TestPropertiesHaveTheFormOfAMQP(t *testing.T) {
	t.Parallel()
	all := rabbit.Properties{
		ContentType: "a", ContentEncoding: "b\xff", DeliveryMode: 1, Priority: 255, CorrelationID: "c\x00", ReplyTo: "d",
		Expiration: "5", MessageID: strings.Repeat("e", 255), Timestamp: math.MinInt64, Type: "f", UserID: "g", AppID: "h",
	}
	for _, want := range []rabbit.Properties{{}, all, {Timestamp: 1700000000000, MessageID: "m"}} {
		data, err := rabbit.EncodeProperties(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := rabbit.DecodeProperties(data); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
	if data, err := rabbit.EncodeProperties(rabbit.Properties{ContentType: "a", Priority: 3, AppID: "z"}); err != nil ||
		string(data) != "\x88\x08\x01a\x03\x01z" {
		t.Errorf("got %q, %v; want the form of AMQP", data, err)
	}
	_, err := rabbit.EncodeProperties(rabbit.Properties{ReplyTo: strings.Repeat("r", 256)})
	if err == nil || !strings.Contains(err.Error(), "reply_to is 256 bytes long") {
		t.Errorf("got %v; want that it is too long", err)
	}
}

func TestDamagedPropertiesAreErrors(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "\x80", "\x80\x00", "\x80\x00\x02a", "\x00\x00x", "\x00\x01", "\x20\x00", "\x10\x00", "\x00\x401234567"} {
		if got, err := rabbit.DecodeProperties([]byte(data)); err == nil {
			t.Errorf("decoded %q as %+v; want an error", data, got)
		}
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add(uint64(1), "name", "value")
	f.Fuzz(func(t *testing.T, seed uint64, name, value string) {
		table := rabbittest.RandomTable(rand.New(rand.NewPCG(seed, 0)), 5)
		table[name[:min(255, len(name))]] = value
		table[value[:min(255, len(value))]] = []byte(name)
		checkHeaders(t, table)
	})
}

func FuzzHeadersFromAnywhere(f *testing.F) {
	data, err := rabbit.EncodeHeaders(everyType())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(nested(40)))
	f.Add([]byte(longstr("\x01aB\x01\x01at\x02")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if table, err := rabbit.DecodeHeaders(data); err == nil {
			checkHeaders(t, table)
		}
	})
}

func FuzzPropertiesFromAnywhere(f *testing.F) {
	f.Add([]byte("\x88\x08\x01a\x03\x01z"))
	f.Fuzz(func(t *testing.T, data []byte) {
		want, err := rabbit.DecodeProperties(data)
		if err != nil {
			return
		}
		again, err := rabbit.EncodeProperties(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := rabbit.DecodeProperties(again); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	})
}

// deaths are the headers of a message that died in n queues.
func deaths(n int) rabbit.Table {
	history := make([]any, n)
	for i := range history {
		history[i] = rabbit.Table{
			"count": int64(i), "reason": "rejected", "queue": fmt.Sprintf("payments.work.%d", i), "time": time.Unix(1700000000, 0),
			"exchange": "payments", "routing-keys": []any{"payment.captured"},
		}
	}
	return rabbit.Table{
		"x-death": history, "x-first-death-queue": "payments.work.0", "x-first-death-reason": "rejected", "x-first-death-exchange": "payments",
	}
}

func BenchmarkEncodeHeaders(b *testing.B) {
	table := deaths(5)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, err = rabbit.AppendHeaders(dst[:0], table); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(dst)))
}

func BenchmarkDecodeHeaders(b *testing.B) {
	data, err := rabbit.EncodeHeaders(deaths(5))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rabbit.DecodeHeaders(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeProperties(b *testing.B) {
	p := rabbit.Properties{ContentType: "application/json", DeliveryMode: 2, MessageID: "0190b7a4-0000-7000-8000-000000000001", Timestamp: 1700000000}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rabbit.EncodeProperties(p); err != nil {
			b.Fatal(err)
		}
	}
}

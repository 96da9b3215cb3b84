package rabbit_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// onTheWire compares tables as AMQP does: floats by their bits, times by their
// second, and an absent array like an empty one.
var onTheWire = cmp.Options{
	cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }),
	cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }),
	cmp.Comparer(func(a, b time.Time) bool { return a.Unix() == b.Unix() }),
	cmpopts.EquateEmpty(),
}

// everyType has a value of each AMQP type, and what is hard to store of each.
func everyType() rabbit.Table {
	return rabbit.Table{
		"bool": true, "int8": int8(-128), "uint8": uint8(255), "int16": int16(-32768), "uint16": uint16(65535),
		"int32": int32(math.MinInt32), "uint32": uint32(math.MaxUint32), "int64": int64(math.MinInt64),
		"float32": float32(0.1), "float64": 0.1, "decimal": amqp.Decimal{Scale: 2, Value: -1234},
		"string": "grün <&> \u2028", "empty": "", "time": time.Unix(1700000000, 0), "void": nil,
		"bytes": []byte{0, 255}, "no bytes": []byte{},
		"array": []any{int64(1), nil, "x", []any{}, rabbit.Table{"a": nil}},
		"table": rabbit.Table{"deep": rabbit.Table{"deeper": []any{amqp.Decimal{Scale: 255, Value: math.MaxInt32}}}},

		"latin1": "gr\xfcn", "nul": "a\x00b", "far future": time.Unix(1700000000000, 0),
		"before all": time.Unix(math.MinInt64/2, 0),
		"nan":        math.NaN(), "other nan": math.Float64frombits(0x7ff8000000000099), "nan32": float32(math.NaN()),
		"inf": math.Inf(1), "-inf": math.Inf(-1), "-inf32": float32(math.Inf(-1)), "-0": math.Copysign(0, -1),
		"tiny": math.SmallestNonzeroFloat64, "huge32": float32(math.MaxFloat32),
		"n\xffame": "name is not UTF-8", "n\x00ame": "name with NUL", "=b64=eA==": "name like an escape", "": "no name",
	}
}

func TestTableKeepsEveryTypeAndValue(t *testing.T) {
	t.Parallel()
	data, err := rabbit.EncodeTable(everyType())
	if err != nil {
		t.Fatal(err)
	}
	got, err := rabbit.DecodeTable(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(everyType(), got, onTheWire); diff != "" {
		t.Errorf("decoded table (-want +got):\n%s", diff)
	}
}

func TestTableIsJSONThatNamesTypes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"long", int64(5), `{"t":"l","v":"5"}`},
		{"int of the console's own", 7, `{"t":"I","v":"7"}`},
		{"int too large for 32 bits", 1 << 40, `{"t":"l","v":"1099511627776"}`},
		{"text", "a", `{"t":"S","v":"a"}`},
		{"text that is not UTF-8", "\xff", `{"t":"S","b64":"/w=="}`},
		{"text with NUL", "\x00", `{"t":"S","b64":"AA=="}`},
		{"bytes", []byte("a"), `{"t":"x","b64":"YQ=="}`},
		{"bool", false, `{"t":"t","v":false}`},
		{"void", nil, `{"t":"V"}`},
		{"array", []any{nil}, `{"t":"A","v":[{"t":"V"}]}`},
		{"no array", []any(nil), `{"t":"A","v":[]}`},
		{"table", rabbit.Table{"k": int8(1)}, `{"t":"F","v":{"k":{"t":"b","v":"1"}}}`},
		{"no table", rabbit.Table(nil), `{"t":"F","v":{}}`},
		{"decimal", amqp.Decimal{Scale: 2, Value: 1234}, `{"t":"D","v":"1234e-2"}`},
		{"time", time.Unix(99, 0), `{"t":"T","v":"99"}`},
		{"not a number", math.NaN(), `{"t":"d","v":"NaN"}`},
		{"infinite", float32(math.Inf(1)), `{"t":"f","v":"+Inf"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := rabbit.EncodeTable(rabbit.Table{"h": tt.value})
			if want := `{"h":` + tt.want + `}`; err != nil || string(got) != want {
				t.Errorf("got %s, %v; want %s", got, err, want)
			}
		})
	}
}

func TestNoTableIsAnEmptyOne(t *testing.T) {
	t.Parallel()
	data, err := rabbit.EncodeTable(nil)
	if err != nil || string(data) != "{}" {
		t.Errorf("got %s, %v; want {}", data, err)
	}
}

func TestTypesThatAMQPDoesNotHaveAreNamed(t *testing.T) {
	t.Parallel()
	_, err := rabbit.EncodeTable(rabbit.Table{"ok": "x", "list": []any{rabbit.Table{"n": uint64(1)}}})
	if err == nil || !strings.Contains(err.Error(), `"list": element 0: "n": AMQP has no type for uint64`) {
		t.Errorf("got %v; want the place and the type", err)
	}
}

func TestDamagedTablesAreErrors(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		``, `[]`, `{"a":1}`, `{"a":{"t":"?","v":"1"}}`, `{"a":{"t":"b","v":"128"}}`, `{"a":{"t":"l","v":5}}`,
		`{"a":{"t":"D","v":"5"}}`, `{"a":{"t":"D","v":"5e-256"}}`, `{"a":{"t":"x"}}`, `{"a":{"t":"S"}}`,
		`{"a":{"t":"S","b64":"?"}}`, `{"=b64=?":{"t":"V"}}`, `{"a":{"t":"d","v":"NaN:x"}}`, `{"a":{"t":"A","v":{}}}`,
		strings.Repeat(`{"a":{"t":"F","v":`, 100) + `{}` + strings.Repeat(`}}`, 100),
	} {
		if got, err := rabbit.DecodeTable([]byte(data)); err == nil {
			t.Errorf("decoded %.40s as %v; want an error", data, got)
		}
	}
}

func TestPostgresStoresEveryTable(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	data, err := rabbit.EncodeTable(everyType())
	if err != nil {
		t.Fatal(err)
	}
	var stored []byte
	if err := pool.QueryRow(t.Context(), `SELECT $1::jsonb::text`, string(data)).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	got, err := rabbit.DecodeTable(stored)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(everyType(), got, onTheWire); diff != "" {
		t.Errorf("table out of jsonb (-want +got):\n%s", diff)
	}
}

func TestRandomTablesSurvive(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		want := rabbittest.RandomTable(rand.New(rand.NewPCG(seed, 0)), 3)
		checkRoundTrip(t, want)
	}
}

// checkRoundTrip fails the test unless want can be stored as jsonb and comes
// back the same.
func checkRoundTrip(t *testing.T, want rabbit.Table) {
	t.Helper()
	data, err := rabbit.EncodeTable(want)
	if err != nil {
		t.Fatalf("encode %#v: %v", want, err)
	}
	if !json.Valid(data) || !utf8.Valid(data) || bytes.Contains(data, []byte(`\u0000`)) || bytes.IndexByte(data, 0) >= 0 {
		t.Fatalf("not fit for jsonb: %s", data)
	}
	got, err := rabbit.DecodeTable(data)
	if err != nil {
		t.Fatalf("decode %s: %v", data, err)
	}
	if diff := cmp.Diff(want, got, onTheWire); diff != "" {
		t.Fatalf("decoded table (-want +got):\n%s", diff)
	}
}

func FuzzTableFromBroker(f *testing.F) {
	f.Add(uint64(1), "name", "value")
	f.Add(uint64(2), "=b64=", "\x00\xff")
	f.Fuzz(func(t *testing.T, seed uint64, name, value string) {
		table := rabbittest.RandomTable(rand.New(rand.NewPCG(seed, 0)), 4)
		table[name] = value
		table[value] = []byte(name)
		checkRoundTrip(t, table)
	})
}

func FuzzTableFromJSON(f *testing.F) {
	data, err := rabbit.EncodeTable(everyType())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"a":{"t":"A","v":[{"t":"F","v":{"b":{"t":"S","b64":"/w=="}}}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if table, err := rabbit.DecodeTable(data); err == nil {
			checkRoundTrip(t, table)
		}
	})
}

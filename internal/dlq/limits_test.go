package dlq

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

// noise is text that does not compress: characters of three bytes without an
// order, at most n bytes of them.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var b strings.Builder
	for b.Len()+3 <= n {
		b.WriteRune(rune(0x4e00 + r.IntN(0x5000)))
	}
	return b.String()
}

// unharmed stores a delivery and returns its message, which must not have gone
// into quarantine and whose bytes must be there.
func unharmed(t *testing.T, pool *pgxpool.Pool, d rabbit.Delivery) Message {
	t.Helper()
	d.Properties.MessageID = "m-1"
	id, s := put(t, pool, paySource, d)[0], NewStore(pool)
	m, err := s.Message(t.Context(), id)
	if err != nil || m.Quarantine != "" {
		t.Fatalf("quarantine %q, %v", m.Quarantine, err)
	}
	body, err := s.Body(t.Context(), id, 0)
	if err != nil || !bytes.Equal(body, d.Body) {
		t.Fatalf("%d bytes of the body came back, want the %d (%v)", len(body), len(d.Body), err)
	}
	life, err := s.Life(t.Context(), id, 0)
	if err != nil || !reflect.DeepEqual(life.Headers, d.Headers) {
		t.Fatalf("the headers came back as others (%v)", err)
	}
	return m
}

// An index takes no row above 2,704 bytes, and compresses none of these.
func TestIndexedColumnsOfGreatestLengthFitTheirIndexes(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	longest := noise(maxBusinessKey) + "x" // the greatest length to the byte
	name := noise(maxShortString)
	d := delivery(fmt.Sprintf(`{"orderNo":%q,"text":%q}`, longest, noise(maxBodyText)), arrival)
	d.Headers["x-exception-type"], d.Headers["x-exception-message"] = noise(100_000), noise(100_000)
	d.Headers["x-death"] = []any{died(name, "rejected", 1, arrival)}
	m := unharmed(t, pool, d)
	if m.BusinessKey != longest || m.Original.Queue != name || len(m.Failure.Type) < maxFailureType-3 || len(m.Failure.Type) > maxFailureType {
		t.Errorf("key of %d, queue of %d, type of %d bytes", len(m.BusinessKey), len(m.Original.Queue), len(m.Failure.Type))
	}
	if err := search(t, pool); err != nil {
		t.Fatalf("search text of %d bytes without an order: %v", maxBodyText, err)
	}
	for _, f := range []Filter{{BusinessKey: longest}, {FailureType: m.Failure.Type}, {Text: longest[:300]}} {
		page, err := NewStore(pool).List(t.Context(), f)
		if err != nil || len(page.Messages) != 1 {
			t.Errorf("%d found by what is indexed (%v)", len(page.Messages), err)
		}
	}
	over := unharmed(t, pool, delivery(fmt.Sprintf(`{"orderNo":%q}`, longest+"y"), arrival))
	if over.BusinessKey != "" {
		t.Errorf("a key of %d bytes is taken for one", len(over.BusinessKey))
	}
}

// search makes what is stored searchable.
func search(t *testing.T, pool *pgxpool.Pool) error {
	t.Helper()
	ids := []uuid.UUID{}
	rows, err := pool.Query(t.Context(), "SELECT id FROM dead_letters")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id uuid.UUID
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		return err
	}
	if err := writeSearchText(t.Context(), tx, ids); err != nil {
		return err
	}
	return tx.Commit(t.Context())
}

func TestHeadersOfAnySizeAreKept(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	many := rabbit.Table{}
	for i := range 10_000 {
		many[fmt.Sprint("x-", i)] = int32(i)
	}
	elements := make([]any, 10_000)
	for i := range elements {
		elements[i] = rabbit.Table{"n": int64(i), "text": "\x00\xff"}
	}
	deep := any("leaf")
	for range 500 {
		deep = rabbit.Table{"a": []any{deep}}
	}
	for name, h := range map[string]rabbit.Table{
		"a string of 1 MB":    {"x-exception-stacktrace": strings.Repeat("at a.b.C\n", 1<<20/9), "noise": noise(1 << 20)},
		"an array of 10,000":  {"x-death": elements},
		"10,000 names":        many,
		"nested":              {"deep": deep},
		"a number as a text":  {"x-retry-count": "1e400000", "x-order": strings.Repeat("9", 100_000)},
		"an array of nothing": {"x-death": make([]any, 10_000)},
	} {
		d := delivery("{}", arrival)
		d.Headers = h
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unharmed(t, pool, d)
		})
	}
}

func TestBodiesThatJSONOfADatabaseRefusesAreOrdinary(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	const levels = 100_000
	for name, body := range map[string]string{
		"deep arrays":     strings.Repeat("[", levels) + strings.Repeat("]", levels),
		"deep objects":    strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels),
		"open ends":       strings.Repeat(`[{"a":`, levels),
		"a huge number":   `{"orderNo":1e400000}`,
		"a long number":   `{"orderNo":` + strings.Repeat("9", 200_000) + `}`,
		"a name twice":    `{"orderNo":"a","orderNo":"b"}`,
		"lone surrogates": `{"orderNo":"\ud800","x":"\u0000"}`,
		"a long name":     `{"` + noise(1<<20) + `":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := unharmed(t, pool, delivery(body, arrival))
			if !m.BodyIsText || len(m.BusinessKey) > maxBusinessKey {
				t.Errorf("text: %v, a key of %d bytes", m.BodyIsText, len(m.BusinessKey))
			}
		})
	}
}

// A statement takes 65,535 parameters.
func TestASelectionMayHaveMoreIdsThanAStatementHasParameters(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	stored := put(t, pool, paySource, delivery("a", arrival), delivery("b", arrival))
	ids := make([]string, 70_000)
	for i := range ids {
		ids[i] = uuid.NewString()
	}
	ids[0], ids[69_999] = stored[0], stored[1]
	results, err := NewStore(pool).Discard(t.Context(), ids, act)
	if err != nil || len(results) != len(ids) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, r := range results {
		want := ResultNotFound
		if i == 0 || i == 69_999 {
			want = ResultDone
		}
		if r.Result != want {
			t.Fatalf("id %d became %+v, want %s", i, r, want)
		}
	}
	if n := number(t, pool, "SELECT count(*) FROM audit"); n != 2 {
		t.Errorf("%d entries in the audit, want the two", n)
	}
}

// What a broker takes in its default settings: 128 MiB up to 3.13, then 16.
func TestTheLargestBodyOfABrokerIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 128 MiB")
	}
	t.Parallel()
	pool := pgtest.New(t)
	const size, part = 128 << 20, 4 << 20
	body := make([]byte, size)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(body) // never fails
	id, s := put(t, pool, paySource, rabbit.Delivery{Body: body, Headers: rabbit.Table{}})[0], NewStore(pool)
	want := sha256.Sum256(body)

	m, err := s.Message(t.Context(), id)
	if err != nil || m.Quarantine != "" || m.BodySize != size || !bytes.Equal(m.BodySHA256, want[:]) {
		t.Fatalf("quarantine %q, %d bytes, %v", m.Quarantine, m.BodySize, err)
	}
	got := sha256.New()
	for at := int64(0); at < size; at += part {
		b, err := s.BodyPart(t.Context(), id, 1, at, part)
		if err != nil || len(b) != part {
			t.Fatalf("%d bytes from %d on, %v", len(b), at, err)
		}
		got.Write(b)
	}
	if !bytes.Equal(got.Sum(nil), want[:]) {
		t.Error("the parts are not the body")
	}
}

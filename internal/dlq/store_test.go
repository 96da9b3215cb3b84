package dlq

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

var paySource = Source{Name: "pay", Queue: "q.terminal", BusinessKey: []KeyFinder{{Body: "$.orderNo"}, {Header: "x-order"}}}

func TestListPagesNewestFirst(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := NewStore(pool)
	var deliveries []rabbit.Delivery
	for i := range 7 {
		deliveries = append(deliveries, delivery(fmt.Sprintf(`{"n":%d}`, i), arrival.Add(time.Duration(i/2)*time.Second)))
	}
	put(t, pool, paySource, deliveries...)
	put(t, pool, Source{Name: "other"}, delivery("x", arrival))

	var got []Message
	f := Filter{Source: "pay", Limit: 3}
	for {
		page, err := store.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if page.Total != (Count{7, true}) {
			t.Errorf("total %+v, want 7 on each page", page.Total)
		}
		got = append(got, page.Messages...)
		if page.Next == "" {
			break
		}
		f.Cursor = page.Next
	}
	if len(got) != 7 {
		t.Fatalf("%d messages on all pages, want 7", len(got))
	}
	for i := range got[1:] {
		if a, b := got[i], got[i+1]; a.DiedAt.Before(b.DiedAt) || (a.DiedAt.Equal(b.DiedAt) && a.ID <= b.ID) {
			t.Errorf("%s %v stands before %s %v", a.ID, a.DiedAt, b.ID, b.DiedAt)
		}
	}
	newer, older, err := store.Neighbours(t.Context(), Filter{Source: "pay"}, got[3])
	if err != nil || newer != got[2].ID || older != got[4].ID {
		t.Errorf("neighbours %s and %s (%v), want %s and %s", newer, older, err, got[2].ID, got[4].ID)
	}
	newer, older, err = store.Neighbours(t.Context(), Filter{Source: "pay"}, got[6])
	if err != nil || newer != got[5].ID || older != "" {
		t.Errorf("neighbours of the last: %s and %q (%v)", newer, older, err)
	}
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := NewStore(pool)
	now := arrival
	retried := delivery(`{"orderNo":"Ж-1","note":"50% OFF_now"}`, now)
	retried.Headers["x-retry-count"] = int32(5)
	retried.Headers["x-exception-type"] = "Busy"
	expired := delivery(`{"orderNo":"B-2","note":"50 percent 中文内容"}`, now)
	expired.Headers = rabbit.Table{"x-death": []any{died("q.pay", "expired", 2, now)}}
	old := delivery(`{"orderNo":"C-3","note":"zq"}`, now.Add(-48*time.Hour))
	all := put(t, pool, paySource, retried, expired, old)
	put(t, pool, Source{Name: "other"}, rabbit.Delivery{Body: []byte{0xff}})
	if _, err := store.Discard(t.Context(), all[1:2], act); err != nil {
		t.Fatal(err)
	}

	tests := []struct {
		name    string
		filter  Filter
		want    []string
		bounded bool
	}{
		{"source and state", Filter{Source: "pay", States: []State{Open}}, []string{all[0], all[2]}, false},
		{"several states", Filter{Source: "pay", States: []State{Resolved, Discarded}}, all[1:2], false},
		{"reason", Filter{Reason: Expired}, all[1:2], false},
		{"failure type", Filter{FailureType: "Busy"}, all[:1], false},
		{"a part of a failure type", Filter{FailureType: "Bus"}, nil, false},
		{"retries from", Filter{RetriesMin: new(int64(3))}, all[:1], false},
		{"retries to", Filter{RetriesMax: new(int64(1))}, all[2:], false},
		{"business key", Filter{BusinessKey: "C-3"}, all[2:], false},
		{"text, whatever its case", Filter{Text: "ж-1"}, all[:1], false},
		{"percent and underscore are what they are", Filter{Text: "50% off_"}, all[:1], false},
		{"Chinese text", Filter{Text: "中文内"}, all[1:2], false},
		{"a short text is looked for in the last 24 hours", Filter{Text: "ZQ"}, nil, true},
		{"a short text that is young", Filter{Text: "50"}, []string{all[0], all[1]}, true},
		{"backslash", Filter{Text: `off\_now`}, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.filter.Now = now
			page, err := store.List(t.Context(), tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, m := range page.Messages {
				got[m.ID] = true
			}
			want := map[string]bool{}
			for _, id := range tt.want {
				want[id] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
			if page.Bounded != tt.bounded {
				t.Errorf("bounded %v, want %v", page.Bounded, tt.bounded)
			}
			if page.Total != (Count{int64(len(tt.want)), true}) {
				t.Errorf("total %+v, want %d", page.Total, len(tt.want))
			}
		})
	}
}

func TestListRefusesAForeignCursor(t *testing.T) {
	t.Parallel()
	store := NewStore(pgtest.New(t))
	for _, c := range []string{"x", "AAAA", "////", strings.Repeat("_", 32), strings.Repeat("A", 33)} {
		if _, err := store.List(t.Context(), Filter{Cursor: c}); !errors.Is(err, ErrBadCursor) {
			t.Errorf("cursor %q: %v, want ErrBadCursor", c, err)
		}
	}
}

// Every page must be read through an index however large the store is: a
// sequential scan of bodies is what brings a console down. Counting goes up to
// 10,000 matches; where these are a good part of a small table, scanning it is
// what costs least, so that only selective filters are held to it.
func TestNoPageScansTheTable(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	const fill = `
		INSERT INTO dead_letters (id, source, state, state_changed_at, first_drained_at, business_key, reason, failure_type,
			retry_count, retry_count_source, died_at, drained_at, body_size, body_sha256, body_preview)
		SELECT gen_random_uuid(), 's' || n % 20, (ARRAY['open','replaying','replayed','resolved','discarded'])[1 + (n % 97) % 5],
			now(), now(), 'key-' || n, (ARRAY['rejected','expired','maxlen','delivery_limit'])[1 + (n % 89) % 4], 'Type' || n % 400,
			n % 50, 'framework', now() - n * interval '1 minute', now(), 100, sha256(n::text::bytea), 'p'
		FROM generate_series(1, 40000) AS n`
	exec(t, pool, fill)
	exec(t, pool, `INSERT INTO body_texts SELECT id, '{"orderno":"' || repeat(md5(substr(business_key, 5)), 30) || '"}' FROM dead_letters`)
	exec(t, pool, `INSERT INTO lives (message_id, round, drained_at, died_at, died_at_known, exchange, routing_key, redelivered,
			properties, headers, body, body_is_text, body_size, body_sha256, reason)
		SELECT id, 1, now(), died_at, true, '', '', false, '', '', '', true, 0, body_sha256, reason FROM dead_letters`)
	exec(t, pool, "VACUUM ANALYZE dead_letters, body_texts, lives")

	filters := map[string]Filter{
		"nothing":           {},
		"source":            {Source: "s3"},
		"state":             {States: []State{Open}},
		"source and state":  {Source: "s3", States: []State{Open}},
		"several states":    {States: []State{Open, Replayed}},
		"reason":            {Reason: Expired},
		"retries":           {RetriesMin: new(int64(49))},
		"retries between":   {RetriesMin: new(int64(3)), RetriesMax: new(int64(3))},
		"business key":      {BusinessKey: "key-777"},
		"failure type":      {FailureType: "Type7"},
		"text":              {Text: "c4ca4238a0b9"},
		"short text":        {Text: "c4"},
		"text and source":   {Text: "c4ca4238a0b9", Source: "s1"},
		"nobody's source":   {Source: "none"},
		"a page far behind": {Cursor: cursor{time.Now().Add(-20000 * time.Minute), uuid.New()}.String()},
	}
	selective := map[string]bool{
		"source and state": true, "retries": true, "business key": true, "failure type": true, "text": true, "text and source": true, "nobody's source": true,
	}
	for name, f := range filters {
		where, args, err := NewStore(pool).condition(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for what, sql := range map[string]string{"list": listSQL(where), "count": countSQL(where), "facet": facetSQL("reason", where)} {
			args["limit"], args["words"] = 51, maxTypes
			if what != "list" {
				args["limit"] = maxExact + 1
			}
			if what != "list" && !selective[name] {
				continue
			}
			rows, err := pool.Query(t.Context(), "EXPLAIN "+sql, planned, args)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(plan, "\n"); strings.Contains(text, "Seq Scan") {
				t.Errorf("%s by %s scans the table:\n%s", what, name, text)
			}
		}
	}
	page, err := NewStore(pool).List(t.Context(), Filter{})
	if err != nil || page.Total != (Count{maxExact, false}) || len(page.Messages) != defaultPage {
		t.Errorf("total %+v of %d messages (%v), want 10,000 and more, on a page of %d", page.Total, len(page.Messages), err, defaultPage)
	}
	facets, err := NewStore(pool).Facets(t.Context(), Filter{States: []State{Open}, Source: "s3"})
	if err != nil || !facets.Exact || facets.States[Open] != int64(number(t, pool, "SELECT count(*) FROM dead_letters WHERE source = 's3' AND state = 'open'")) {
		t.Errorf("facets %+v (%v)", facets, err)
	}
	if facets, err = NewStore(pool).Facets(t.Context(), Filter{}); err != nil || len(facets.Types) < maxTypes || len(facets.Types) > maxTypes+1 || facets.Exact {
		t.Errorf("%d failure types (%v), want the most frequent %d, of the newest only", len(facets.Types), err, maxTypes)
	}
}

func TestBodiesAndHeadersComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := NewStore(pool)
	large := make([]byte, 10<<20)
	random := rand.NewChaCha8([32]byte{1})
	random.Read(large)
	bodies := map[string]struct {
		body    []byte
		isText  bool
		preview string
	}{
		"nothing":           {nil, true, ""},
		"one broken byte":   {[]byte{0xff}, false, ""},
		"NUL":               {[]byte("a\x00b"), false, ""},
		"ten megabytes":     {large, false, ""},
		"JSON with \\u0000": {[]byte(`{"a":"\u0000"}`), true, `{"a":"\u0000"}`},
		"long text":         {[]byte(strings.Repeat("文", 100_000)), true, strings.Repeat("文", maxBodyPreview/3)},
	}
	for name, tt := range bodies {
		d := rabbit.Delivery{
			Exchange: "ex\x00\xff", RoutingKey: "key\x00", Redelivered: false, Body: tt.body,
			Properties: rabbit.Properties{MessageID: "id\x00\xff", ContentType: "te\x00xt", Timestamp: 1 << 60},
			Headers: rabbit.Table{
				"nul\x00name": "nul\x00value", "bytes": []byte{0, 0xff}, "list": []any{nil, int8(1), rabbit.Table{"x": "\xff"}},
				"x-original-queue": "q\x00", "x-exception-message": "m\x00\xff", "x-exception-type": "t\x00", "x-order": "k\x00",
				"x-death": []any{rabbit.Table{"queue": "q\x00\xff", "reason": "r\x00", "exchange": "e\x00", "routing-keys": []any{"\x00"}}},
			},
		}
		id := put(t, pool, paySource, d)[0]

		body, err := store.Body(t.Context(), id, 0)
		if err != nil || !bytes.Equal(body, tt.body) {
			t.Errorf("%s: %d bytes (%v), want the %d bytes that came", name, len(body), err, len(tt.body))
		}
		start, err := store.BodyPart(t.Context(), id, 1, 0, 5)
		if err != nil || !bytes.Equal(start, tt.body[:min(5, len(tt.body))]) {
			t.Errorf("%s: starts with %q (%v)", name, start, err)
		}
		m, err := store.Message(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(tt.body)
		if m.BodyIsText != tt.isText || m.BodyPreview != tt.preview || m.BodySize != int64(len(tt.body)) || !bytes.Equal(m.BodySHA256, sum[:]) || m.Quarantine != "" {
			t.Errorf("%s: %+v", name, m)
		}
		life, err := store.Life(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d.Headers, life.Headers); diff != "" {
			t.Errorf("%s: headers (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(d.Properties, life.Properties); diff != "" {
			t.Errorf("%s: properties (-want +got):\n%s", name, diff)
		}
		if life.Exchange != "ex\uFFFD\uFFFD" || life.Failure.Message != "m\uFFFD\uFFFD" || m.BusinessKey != "" || m.Original.Queue != "q\uFFFD" {
			t.Errorf("%s: life %+v of message %+v", name, life, m)
		}
	}
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := NewStore(pool)
	id := put(t, pool, paySource, delivery("a", arrival))[0]
	for _, id := range []string{"", "no uuid", uuid.NewString(), "\x00"} {
		_, err1 := store.Message(t.Context(), id)
		_, err2 := store.Life(t.Context(), id, 0)
		_, err3 := store.LifeOfReplay(t.Context(), id, 1, 1)
		_, err4 := store.Body(t.Context(), id, 0)
		for i, err := range []error{err1, err2, err3, err4} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%d of %q: %v, want ErrNotFound", i, id, err)
			}
		}
	}
	if _, err := store.Body(t.Context(), id, 2); !errors.Is(err, ErrNotFound) {
		t.Errorf("body of a round that never was: %v", err)
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	now := time.Now().Truncate(time.Second)
	failing := func(body, kind string, ago time.Duration) rabbit.Delivery {
		d := delivery(body, now.Add(-ago))
		d.Headers["x-exception-type"], d.Headers["x-exception-message"] = kind, "order "+body
		return d
	}
	l := open(t, pool, paySource, nil)
	for _, d := range []rabbit.Delivery{
		failing("1", "Busy", time.Minute), failing("2", "Busy", 16*time.Minute), failing("3", "Timeout", 10*time.Hour),
	} { // each has a message of its own, and the type is the same
		if _, err := l.store(t.Context(), []*letter{prepare(d, paySource, now)}, now); err != nil {
			t.Fatal(err)
		}
	}
	l.close()
	exec(t, pool, "UPDATE dead_letters SET quarantine = 'x' WHERE failure_type = 'Timeout'")

	all, err := NewStore(pool).Figures(t.Context(), now)
	if err != nil || len(all) != 1 {
		t.Fatalf("figures of %d sources (%v), want 1", len(all), err)
	}
	deaths := make([]int64, 24)
	deaths[23], deaths[22] = 1, 1
	want := SourceFigures{
		Source: "pay", Open: 3, Quarantined: 1, OldestOpen: now.Add(-10 * time.Hour).UTC(), Last6h: deaths, LastDrainedAt: now.UTC(),
		TopFailureType: "Busy", TopFailureMessage: "order 1", TopReason: Rejected, TopCount: 2,
	}
	if diff := cmp.Diff(want, all[0]); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

func TestMessagesAreNamedByTheirBusinessKeys(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	store := NewStore(pool)
	all := put(t, pool, paySource, delivery(`{"orderNo":"A-1"}`, arrival), delivery(`{"orderNo":"A-1","again":true}`, arrival.Add(time.Minute)), delivery("none", arrival))
	names, err := store.BusinessKeys(t.Context(), append(all, "nothing", uuid.NewString()))
	if diff := cmp.Diff(map[string]string{all[0]: "A-1", all[1]: "A-1"}, names); diff != "" || err != nil {
		t.Errorf("business keys (-want +got): %v\n%s", err, diff)
	}
	ids, err := store.IDsOf(t.Context(), "A-1")
	if diff := cmp.Diff([]string{all[1], all[0]}, ids); diff != "" || err != nil {
		t.Errorf("ids (-want +got): %v\n%s", err, diff)
	}
	if ids, err := store.IDsOf(t.Context(), "\x00"); len(ids) != 0 || err != nil {
		t.Errorf("a key of NUL has %v (%v)", ids, err)
	}
}

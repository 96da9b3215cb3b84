package replay_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/pgtest"
)

func TestListPagesReplaysNewestFirst(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	o.broker.instead = func(rabbit.Message) error { return nil }
	var sent []int64
	for range 5 {
		sent = append(sent, o.send(t, o.add(t, letter{key: "O1"})).ReplayID)
	}
	var got []int64
	var next int64
	for {
		page, after, err := o.List(t.Context(), next, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			got = append(got, r.ID)
			if r.State != "done" || r.Total != 1 || r.Attempts[replay.Sent] != 1 || r.Outcomes[replay.Awaited] != 1 ||
				r.First.BusinessKey != "O1" || r.Actor != "alice" || r.EndedAt.IsZero() {
				t.Errorf("replay is %+v", r)
			}
		}
		if next = after; next == 0 {
			break
		}
	}
	slices.Reverse(sent)
	if !slices.Equal(got, sent) {
		t.Errorf("got %v, want %v", got, sent)
	}
	one, err := o.Replayed(t.Context(), sent[0])
	if err != nil || one.ID != sent[0] {
		t.Errorf("one: %+v, %v", one, err)
	}
	if _, err := o.Replayed(t.Context(), 1<<40); !errors.Is(err, dlq.ErrNotFound) {
		t.Errorf("none: %v, want ErrNotFound", err)
	}
	items, after, err := o.Items(t.Context(), sent[0], "", 10)
	if err != nil || len(items) != 1 || after != "" || items[0].MessageID != one.First.MessageID {
		t.Errorf("items: %+v, %q, %v", items, after, err)
	}
	if items, _, err := o.Items(t.Context(), sent[0], items[0].MessageID, 10); err != nil || len(items) != 0 {
		t.Errorf("items after the last: %+v, %v", items, err)
	}
	if _, _, err := o.Items(t.Context(), sent[0], "x", 10); !errors.Is(err, dlq.ErrBadCursor) {
		t.Errorf("bad cursor: %v", err)
	}
}

func TestPreflightOfManyCountsVerdicts(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	o.hold(t, statusKey, "PROCESSING", old)
	o.hold(t, "idempotent:msg:O2", "SUCCESS", old)
	ids := []string{
		o.add(t, letter{key: "O1"}), o.add(t, letter{key: "O2"}), o.add(t, letter{key: "O3"}), o.add(t, letter{key: "O4"}),
		o.add(t, letter{}), o.add(t, letter{key: "O5", queue: "-"}),
	}
	counts, err := o.PreflightMany(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	want := map[replay.Verdict]int{replay.StaleKey: 1, replay.WillSkip: 1, replay.WillRun: 3, replay.NoKey: 1}
	for v, n := range want {
		if counts.Verdicts[v] != n {
			t.Errorf("%s: %d, want %d", v, counts.Verdicts[v], n)
		}
	}
	if counts.Total != len(ids) || counts.Left != 0 || len(counts.Destinations) != 1 || counts.Destinations[0].Queue != work {
		t.Errorf("got %+v", counts)
	}
	if _, err := o.PreflightMany(t.Context(), []string{"x"}); !errors.Is(err, dlq.ErrNotFound) {
		t.Errorf("no such message: %v", err)
	}
}

func TestPreflightNamesNewerMessagesThatSucceeded(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	older := o.add(t, letter{key: "O1", state: dlq.Resolved})
	id := o.add(t, letter{key: "O1"})
	newer := o.add(t, letter{key: "O1", state: dlq.Resolved})
	o.add(t, letter{key: "O1"})
	o.add(t, letter{key: "O2", state: dlq.Resolved})
	p, err := o.Preflight(t.Context(), id, "")
	if err != nil || !slices.Equal(p.NewerSucceeded, []string{newer}) {
		t.Errorf("got %v, %v, want %s and not %s", p.NewerSucceeded, err, newer, older)
	}
}

func TestPreflightAsksTheBrokerWhereItCan(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	o.options.Management = map[string]*rabbit.Management{"pay": rabbit.NewManagement(o.vhost.ManagementURL, o.vhost.URL)}
	o.Service = replay.New(o.options)
	id := o.add(t, letter{key: "O1", queue: "q.gone"})
	p, err := o.Preflight(t.Context(), id, "")
	if err != nil || !slices.Contains(p.Destination.Warnings, replay.WarnQueueMissing) {
		t.Errorf("got %+v, %v, want a warning that the queue is missing", p.Destination, err)
	}
	id = o.add(t, letter{key: "O1"})
	p, err = o.Preflight(t.Context(), id, "")
	if err != nil || p.Destination.Why != replay.WhyRouteNoDLX {
		t.Errorf("got %+v, %v, want %s", p.Destination, err, replay.WhyRouteNoDLX)
	}
}

func TestMetricsStartAtZeroAndAreClean(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	problems, err := testutil.GatherAndLint(o.registry)
	if err != nil || len(problems) != 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	for name, want := range map[string]int{
		"dlo_replayed_messages_total": len(replay.AttemptStates) - 1,
		"dlo_replay_outcomes_total":   len(replay.Outcomes) - 1,
		"dlo_key_releases_total":      2 * len(keys.ReleaseResults),
	} {
		if n, err := testutil.GatherAndCount(o.registry, name); err != nil || n != want {
			t.Errorf("%s has %d series, %v, want %d", name, n, err, want)
		}
	}
}

func TestAMessageReplayedTwoThousandTimesIsReadAPageAtATime(t *testing.T) {
	t.Parallel()
	const tries, page = 2000, 20
	o := setUp(t)
	id, other := o.add(t, letter{key: "P1"}), o.add(t, letter{key: "P2"})
	o.exec(t, o.pool, `INSERT INTO replays (state, actor, reason, created_at, total) SELECT 'done', 'ada', 'r', now(), 1 FROM generate_series(1, $1)`, tries)
	o.exec(t, o.pool, `INSERT INTO attempts (replay_id, message_id, round, state, verdict, claimed_at)
		SELECT r.id, m.id, 1, 'skipped', 'will_run', now() FROM replays r, (VALUES ($1::uuid), ($2::uuid)) AS m (id)`, id, other)
	o.exec(t, o.pool, `ANALYZE attempts`)

	seen, before := 0, int64(0)
	for {
		items, err := o.Attempts(t.Context(), id, before, page)
		if err != nil {
			t.Fatal(err)
		}
		if seen += len(items); len(items) < page {
			break
		}
		if before != 0 && items[0].ReplayID != before-1 {
			t.Fatalf("replay %d comes after %d", items[0].ReplayID, before)
		}
		before = items[page-1].ReplayID
	}
	after, err := o.AttemptsAfter(t.Context(), id, before-1, page)
	if err != nil || len(after) != page || after[0].ReplayID != before {
		t.Errorf("%d attempts from %d on, %v", len(after), before, err)
	}
	if seen != tries {
		t.Errorf("%d attempts came, want %d", seen, tries)
	}
	for name, sql := range map[string]string{"newest first": replay.AttemptsBeforeSQL, "oldest first": replay.AttemptsAfterSQL} {
		args := pgx.NamedArgs{"id": uuid.MustParse(id), "replay": before, "limit": page}
		if n := pgtest.RowsRead(t, o.pool, sql, args); n > page {
			t.Errorf("%s: %d rows were read, want %d at most", name, n, page)
		}
	}
}

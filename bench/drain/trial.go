package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"
)

// longFrom is the size above which a run takes long, and varies less.
const longFrom = 4 << 10

// trial measures messages of one size.
type trial struct {
	*bench
	size     int
	consumer plain // the fastest that was found

	limits, stores, drains, naives []float64 // messages a second
}

// run goes in rounds, so that what slows the machine for a while slows the
// parts that are compared alike.
func (t *trial) run(ctx context.Context) error {
	if t.wants("broker") {
		var err error
		if t.consumer, err = fastest(ctx, t.broker, t.sample(), t.size); err != nil {
			return err
		}
		t.report.note("plain consumer, %s: %s", sizeName(t.size), t.consumer)
	}
	for round := range t.rounds() {
		if err := t.round(ctx, round == t.rounds()-1); err != nil {
			return err
		}
	}
	if t.wants("drain") && t.wants("naive") {
		if err := t.oneByOne(ctx); err != nil {
			return err
		}
	}
	t.report.runs(t.size, "a", t.limits)
	t.report.runs(t.size, "b", t.stores)
	t.report.runs(t.size, "d", t.drains)
	t.report.speeds(t.size, median(t.limits), median(t.stores), median(t.naives), median(t.drains))
	return nil
}

// rounds is one fewer for what takes long.
func (t *trial) rounds() int {
	if t.size > longFrom {
		return max(1, t.runs-1)
	}
	return t.runs
}

// sample is on how many messages the plain consumer's settings are tried.
func (t *trial) sample() int {
	if t.size > longFrom {
		return max(1, t.count/10)
	}
	return max(1, t.count/5)
}

func (t *trial) round(ctx context.Context, last bool) error {
	if t.wants("broker") {
		if err := t.limit(ctx); err != nil {
			return err
		}
	}
	if !t.wants("drain") {
		return nil
	}
	if err := t.console(ctx, last); err != nil {
		return err
	}
	if t.wants("store") {
		return t.copies(ctx)
	}
	return nil
}

// limit is the broker's.
func (t *trial) limit(ctx context.Context) error {
	if err := t.broker.fill(ctx, t.count, t.size); err != nil {
		return err
	}
	before := t.spent(os.Getpid())
	took, err := t.consumer.take(ctx, t.broker, t.count)
	if err != nil {
		return err
	}
	t.cost("a", t.spent(os.Getpid()).since(before, t.count))
	t.limits = append(t.limits, t.say("broker alone", t.count, took))
	return nil
}

// console lets the console drain. After the last time it also looks at what is
// there then: dead tuples, search text, latency.
func (t *trial) console(ctx context.Context, last bool) (err error) {
	c, err := t.program.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	began, took, cost, err := t.drain(ctx, c, t.count, t.size)
	if err != nil {
		return errors.Join(err, c.said())
	}
	t.cost("d", cost)
	t.drains = append(t.drains, t.say("console", t.count, took))
	if last {
		err = t.after(ctx, c, began)
	}
	return err
}

// after looks at what the last drain, begun at the given time, left behind:
// dead tuples, search text that is still to come, and how soon one message more
// is listed.
func (t *trial) after(ctx context.Context, c *console, began time.Time) error {
	if err := errors.Join(t.deadTuples(ctx), t.room(ctx)); err != nil {
		return err
	}
	if t.wants("search") {
		if err := t.search(ctx, began); err != nil {
			return err
		}
	}
	if !t.wants("latency") || t.size != t.sizes[0] {
		return nil
	}
	all, err := t.latency(ctx, c, listed, t.size)
	if err != nil {
		return errors.Join(err, c.said())
	}
	t.report.set("latency_median_s", t.size, all[len(all)/2].Seconds())
	t.report.set("latency_max_s", t.size, all[len(all)-1].Seconds())
	progress("%s: in the list after %v, at most %v", sizeName(t.size), all[len(all)/2], all[len(all)-1])
	return nil
}

func (t *trial) deadTuples(ctx context.Context) error {
	tuples, bytes, err := t.store.deadTuples(ctx)
	if errors.Is(err, errNoExtension) {
		t.report.note("dead tuples: %v", err)
		return nil
	}
	t.report.set("dead_tuples_ratio", t.size, tuples)
	t.report.set("dead_bytes_ratio", t.size, bytes)
	return err
}

// room is what a message takes on disk before there is search text.
func (t *trial) room(ctx context.Context) error {
	sum, err := t.store.bytes(ctx, drained)
	t.report.set("bytes_per_message", t.size, float64(sum)/float64(t.count))
	return err
}

// search waits until everything can be found by its text.
func (t *trial) search(ctx context.Context, began time.Time) error {
	limited, cancel := context.WithTimeoutCause(ctx, searchWithin, errLate)
	defer cancel()
	err := until(limited, 100*time.Millisecond, func() (bool, error) { return t.store.searchable(ctx) })
	took := time.Since(began)
	n := t.count
	if errors.Is(err, errLate) {
		n, err = t.store.texts(ctx)
		t.report.note("search text, %s: %d of %d messages after %v", sizeName(t.size), n, t.count, took.Round(time.Second))
	}
	if err != nil {
		return err
	}
	t.report.set("searchable_per_second", t.size, t.say("console, searchable", n, took))
	return nil
}

// copies is the store's limit.
func (t *trial) copies(ctx context.Context) error {
	if err := t.store.check(ctx); err != nil {
		return err
	}
	rows, err := t.store.take(ctx, drained)
	if err != nil {
		return err
	}
	if err := t.store.empty(ctx); err != nil {
		return err
	}
	before := t.spent(os.Getpid())
	took, err := t.store.put(ctx, rows)
	if err != nil {
		return err
	}
	t.cost("b", t.spent(os.Getpid()).since(before, t.count))
	t.stores = append(t.stores, t.say("store alone", t.count, took))
	return nil
}

// oneByOne is the naive consumer's turn.
func (t *trial) oneByOne(ctx context.Context) error {
	n := min(t.bench.options.naive, t.count)
	rows, err := t.store.takeRows(ctx, n)
	if err != nil {
		return err
	}
	if err := t.store.empty(ctx); err != nil {
		return err
	}
	if err := t.broker.fill(ctx, n, t.size); err != nil {
		return err
	}
	took, err := t.naive(ctx, rows)
	if err != nil {
		return err
	}
	t.naives = append(t.naives, t.say("one by one", n, took))
	return nil
}

// cost notes the processor time of a part, for each message. Of several runs
// the last counts.
func (t *trial) cost(part string, each spent) {
	progress("%s, %s: %v", sizeName(t.size), part, each)
	for who, d := range map[string]time.Duration{"client": each.client, "postgres": each.postgres, "broker": each.broker} {
		if d > 0 {
			t.report.set(part+"_"+who+"_cpu_us", t.size, float64(d.Microseconds()))
		}
	}
}

// say tells how fast a part was, and returns it.
func (t *trial) say(part string, n int, took time.Duration) float64 {
	perSecond := rate(n, took)
	progress("%s, %s: %.0f/s", sizeName(t.size), part, perSecond)
	return perSecond
}

// rate is messages a second.
func rate(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

// median is the middle one, or 0 where there is none.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

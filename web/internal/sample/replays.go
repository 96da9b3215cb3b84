package sample

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// Replays answers for the messages of a Store.
type Replays struct {
	Store    *Store
	mu       sync.Mutex
	Requests []replay.Request // what was asked for, in order
	Reports  []keys.Report
	Released []string           // keys, in order
	Settled  []bool             // in order
	Err      error              // what Replay and ReleaseKey answer with, nil for none
	Result   keys.ReleaseResult // what ReleaseKey answers; "": released
}

// KeyOf is the sample key of a business key.
func KeyOf(business string) string { return "mq:consumed:pay_success:" + business }

// Preflight is what the situation of a message says.
func (r *Replays) Preflight(ctx context.Context, id string, _ replay.Route) (replay.Preflight, error) {
	x, ok := r.situation(id)
	if !ok {
		return replay.Preflight{}, dlq.ErrNotFound
	}
	if x.unavailable {
		return replay.Preflight{}, fmt.Errorf("sample: %w", keys.ErrUnavailable)
	}
	p := replay.Preflight{
		MessageID: id, Verdict: x.verdict, Why: x.why, Consent: replay.ConsentFor(x.verdict), AfterRelease: x.after,
		ReadAt: ago(4 * time.Second), Guards: x.guards(), Unacked: new(int64(0)),
		Destination: replay.Destination{
			Route: replay.RouteReplayExchange, Exchange: "dlo.replay." + x.facts().Original.Queue, RoutingKey: "pay.success",
			Queue: x.facts().Original.Queue, Why: replay.WhyRouteKeepsKey, Warnings: []string{replay.WarnNoConsumers},
		},
	}
	p.PossibleCopy, p.Lookalikes = x.twin, r.Store.lookalikes(id)
	if x.twin && p.Consent == replay.SentFreely {
		p.Consent = replay.SentOverride
	}
	if p.Consent == replay.SentReleased {
		p.Releasable = []keys.Key{x.keyReading()}
	}
	if x.after == "" {
		p.AfterRelease = x.verdict
	}
	if unit, err := r.Unit(ctx, id, 0); err == nil {
		p.Unit = unit
		if len(unit.Consents) > 0 && p.Consent == replay.SentFreely {
			p.Consent = replay.SentOverride
		}
	}
	if x.business == Hostile {
		p.NewerSucceeded = []string{ResolvedID}
	}
	return p, nil
}

func (r *Replays) situation(id string) (situation, bool) {
	defer r.Store.lock()()
	x, ok := r.Store.looks[id]
	return x, ok
}

func (x situation) keyReading() keys.Key {
	k := keys.Key{
		Name: KeyOf(x.business), Space: "pay-success", Type: "string", State: x.key, Value: "1", ReadAt: Now,
		Seen: "seen-" + x.business,
	}
	if x.key == keys.Absent {
		k.Type, k.Value = "none", ""
		return k
	}
	if x.business == Hostile {
		k.Value = Hostile
	}
	if x.keyAge > 0 {
		k.Since, k.SinceFrom, k.ExpiresAt = ago(x.keyAge), "ttl", ago(x.keyAge).Add(24*time.Hour)
	}
	return k
}

func (x situation) guards() []replay.GuardAnswer {
	if x.business == "" {
		return nil
	}
	k := x.keyReading()
	g := replay.GuardAnswer{Name: "pay-success", Kind: replay.KindKey, Says: replay.SaysPasses, Key: k.Name, State: string(k.State), Evidence: x.why, Seen: k.Seen}
	if x.verdict == replay.AlreadyEffected {
		g.Evidence = map[keys.State]string{keys.Processing: replay.WhyStuck, keys.Succeeded: replay.WhyKeyDone}[x.key]
	}
	switch x.key {
	case keys.Held, keys.Processing:
		g.Says = replay.SaysBlocks
	case keys.Succeeded:
		g.Says = replay.SaysSkips
	}
	if x.keyAge > 0 {
		g.Age, g.TTL, g.AgeSource = new(x.keyAge), new(24*time.Hour-x.keyAge), "ttl"
	}
	all := []replay.GuardAnswer{g}
	if x.order != "" {
		all = append(all, x.stateGuard(), x.effectGuard())
	}
	return all
}

func (x situation) stateGuard() replay.GuardAnswer {
	g := replay.GuardAnswer{Name: "order state", Kind: replay.KindState, State: x.order, Says: replay.SaysRefuses, Evidence: replay.WhyStateOther}
	switch x.order {
	case "INIT":
		g.Says, g.Evidence = replay.SaysPasses, replay.WhyStateFrom
	case "PAID":
		g.Says, g.Evidence = replay.SaysSkips, replay.WhyStateDone
	}
	return g
}

func (x situation) effectGuard() replay.GuardAnswer {
	if x.effect {
		return replay.GuardAnswer{Name: "account flow", Kind: replay.KindEffect, Says: replay.SaysSkips, Evidence: replay.WhyEffect}
	}
	return replay.GuardAnswer{Name: "account flow", Kind: replay.KindEffect, Says: replay.SaysPasses, Evidence: replay.WhyNoEffect}
}

// PreflightMany counts the verdicts of the situations.
func (r *Replays) PreflightMany(ctx context.Context, ids []string) (replay.Counts, error) {
	counts := replay.Counts{Total: len(ids), Verdicts: map[replay.Verdict]int{}}
	for _, id := range ids {
		p, err := r.Preflight(ctx, id, "")
		if err != nil {
			return replay.Counts{}, err
		}
		if p.PossibleCopy {
			counts.PossibleCopies++
			continue
		}
		counts.Verdicts[p.Verdict]++
		counts.Destinations = []replay.Destination{p.Destination}
	}
	return counts, nil
}

// Replay keeps the request and answers that it was sent.
func (r *Replays) Replay(_ context.Context, q replay.Request) (replay.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Err != nil {
		return replay.Result{}, r.Err
	}
	if _, ok := r.situation(q.MessageID); !ok {
		return replay.Result{}, dlq.ErrNotFound
	}
	r.Requests = append(r.Requests, q)
	return replay.Result{ReplayID: 82, Attempt: replay.Sent, Outcome: replay.Awaited, Verdict: replay.WillRun}, nil
}

// Settle keeps the answer.
func (r *Replays) Settle(_ context.Context, id string, sent bool, _ dlq.Act) error {
	if id != UnknownID {
		return replay.ErrNotUnknown
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Settled = append(r.Settled, sent)
	return nil
}

// Report keeps the report.
func (r *Replays) Report(_ context.Context, report keys.Report) error {
	if _, ok := r.situation(report.MessageID); !ok {
		return dlq.ErrNotFound
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Reports = append(r.Reports, report)
	return nil
}

// Attempts returns the sample attempts of a message, the newest first.
func (r *Replays) Attempts(_ context.Context, id string, before int64, limit int) ([]replay.Item, error) {
	x, _ := r.situation(id)
	var items []replay.Item
	for _, i := range x.attempts {
		if (before == 0 || i.ReplayID < before) && len(items) < limit {
			items = append(items, x.fill(id, i))
		}
	}
	return items, nil
}

// AttemptsAfter returns the sample attempts of a message, the oldest first.
func (r *Replays) AttemptsAfter(ctx context.Context, id string, after int64, limit int) ([]replay.Item, error) {
	all, err := r.Attempts(ctx, id, 0, math.MaxInt)
	slices.Reverse(all)
	all = slices.DeleteFunc(all, func(i replay.Item) bool { return i.ReplayID <= after })
	return all[:min(len(all), limit)], err
}

func (x situation) fill(id string, i replay.Item) replay.Item {
	i.MessageID, i.Round, i.BusinessKey, i.Verdict = id, 1, x.business, x.verdict
	i.ClaimedAt, i.ToQueue, i.ToExchange, i.ToRoutingKey = ago(2*time.Minute), x.facts().Original.Queue, "dlo.replay.q.pay.success", "pay.success"
	i.Route = replay.RouteReplayExchange
	if i.Attempt == replay.Sent {
		i.SentAt = i.ClaimedAt.Add(time.Second)
	}
	if i.Outcome != "" && i.Outcome != replay.Awaited {
		i.SettledAt = ago(time.Minute)
		i.Evidence = json.RawMessage(`{"guards":[{"name":"pay-success","kind":"key","says":"passes","key":"mq:consumed:pay_success:P1","state":"absent","evidence":"key_absent"},{"name":"order state","kind":"state","says":"passes","state":"INIT","evidence":"state_from"}],"unacked":0}`)
		i.Released = json.RawMessage(`[{"key":"` + KeyOf(x.business) + `","result":"released","before":"held"}]`)
	}
	return i
}

// owner finds the sample message of a replay.
func (r *Replays) owner(id int64) (replay.Item, bool) {
	for _, message := range []string{StaleID, ReplayedID, ResolvedID, UnknownID, HostileID, DiscardedID} {
		items, _ := r.Attempts(context.Background(), message, 0, math.MaxInt)
		for _, i := range items {
			if i.ReplayID == id {
				return i, true
			}
		}
	}
	return replay.Item{}, false
}

// List returns the sample replays, newest first.
func (r *Replays) List(ctx context.Context, before int64, _ int) ([]replay.Summary, int64, error) {
	var all []replay.Summary
	for id := int64(82); id >= 79; id-- {
		if before == 0 || id < before {
			one, err := r.Replayed(ctx, id)
			if err != nil {
				return nil, 0, err
			}
			all = append(all, one)
		}
	}
	return all, 0, nil
}

// Replayed returns one sample replay, or dlq.ErrNotFound.
func (r *Replays) Replayed(_ context.Context, id int64) (replay.Summary, error) {
	item, ok := r.owner(id)
	if !ok {
		return replay.Summary{}, fmt.Errorf("sample: replay %d: %w", id, dlq.ErrNotFound)
	}
	s := replay.Summary{
		ID: id, State: "done", Actor: person, Reason: "Harbour Bank is back since 03:06, incident 2026-0928-1", CreatedAt: item.ClaimedAt, Total: 1,
		Attempts: map[replay.AttemptState]int{item.Attempt: 1}, Outcomes: map[replay.Outcome]int{}, First: item,
	}
	if item.Outcome != "" {
		s.Outcomes[item.Outcome] = 1
	}
	if id == 79 {
		s.Actor, s.Reason = Hostile, Hostile
	}
	return s, nil
}

// Items returns the one message of a sample replay.
func (r *Replays) Items(_ context.Context, id int64, _ string, _ int) ([]replay.Item, string, error) {
	item, ok := r.owner(id)
	if !ok {
		return nil, "", dlq.ErrNotFound
	}
	return []replay.Item{item}, "", nil
}

// InspectKey opens the key of a sample message.
func (r *Replays) InspectKey(_ context.Context, key string) (replay.KeyInspection, error) {
	for id, x := range r.all() {
		if x.business == "" || KeyOf(x.business) != key {
			continue
		}
		m, err := r.Store.Message(context.Background(), id)
		if err != nil {
			return replay.KeyInspection{}, err
		}
		k := replay.KeyInspection{
			Key: x.keyReading(), Space: Spaces[0], Stale: x.verdict == replay.StaleKey, BusinessKey: x.business, Guards: x.guards(),
			Evidence: replay.Evidence{Unacked: new(int64(0))}, Decision: replay.Decision{Verdict: x.verdict, Why: x.why}, Messages: []dlq.Message{m},
			Releasable: replay.ConsentFor(x.verdict) == replay.SentReleased,
			Releases:   []audit.Entry{{At: ago(time.Hour), Actor: person, Act: audit.ActRelease, Object: "key " + key, Reason: "the first try", Result: "changed"}},
		}
		if !k.Releasable {
			k.WhyNot = replay.WhyNothingToRelease
		}
		return k, nil
	}
	return replay.KeyInspection{}, fmt.Errorf("sample: %w", keys.ErrNoSpace)
}

func (r *Replays) all() map[string]situation {
	defer r.Store.lock()()
	return looksOf(r.Store)
}

func looksOf(s *Store) map[string]situation {
	all := make(map[string]situation, len(s.looks))
	maps.Copy(all, s.looks)
	return all
}

// ReleaseKey answers what Result says.
func (r *Replays) ReleaseKey(ctx context.Context, key, _ string, _ dlq.Act) (keys.ReleaseResult, keys.Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Err != nil {
		return "", keys.Key{}, r.Err
	}
	k, err := r.InspectKey(ctx, key)
	if err != nil {
		return "", keys.Key{}, err
	}
	r.Released = append(r.Released, key)
	if r.Result != "" {
		return r.Result, k.Key, nil
	}
	return keys.Released, k.Key, nil
}

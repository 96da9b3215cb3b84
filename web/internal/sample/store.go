package sample

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// body is what most sample messages carry: a number no float64 holds, and
// members that a decoder would sort.
const body = `{"orderNo":"P20260928001","bankSerial":9007199254740993117,"amount":1280.00,"currency":"CNY","bank":"HARBOUR",` +
	`"paidAt":"2026-09-28T02:39:16.482+08:00","payer":{"userId":"u_58213","account":"6222****0192","tags":[]},` +
	`"items":[{"sku":"KB-75-GR","qty":1,"price":899.00},{"sku":"CB-USB-C","qty":2,"price":90.50},{"sku":"SHIP-STD","qty":1,"price":200.00}],"note":null}`

// Store keeps sample dead letters. Its zero value is empty.
type Store struct {
	mu      sync.Mutex
	looks   map[string]situation
	notes   map[string][]dlq.Note
	Acts    []dlq.Act // what was done, in order
	Err     error     // what every call answers with, nil for none
	Parts   int       // how many parts of bodies were read
	Refuses string    // why Reimport refuses; "": it does not
}

// NewStore returns a store with a message for each situation.
func NewStore() *Store {
	return &Store{looks: maps.Clone(looks), notes: map[string][]dlq.Note{
		StaleID:   {{ID: 1, At: ago(9 * time.Minute), Actor: person, Text: "Harbour Bank confirms: no debit for this serial. Safe to run again once they are back."}},
		HostileID: {{ID: 1, At: ago(time.Minute), Actor: Hostile, Text: Hostile}},
	}}
}

func (s *Store) lock() func() {
	s.mu.Lock()
	return s.mu.Unlock
}

func (s *Store) message(id string) (dlq.Message, error) {
	x, ok := s.looks[id]
	if !ok {
		return dlq.Message{}, fmt.Errorf("sample: message %s: %w", id, dlq.ErrNotFound)
	}
	text := x.text()
	sum := sha256.Sum256([]byte(text))
	return dlq.Message{
		ID: id, Source: x.sourceName(), State: x.state, StateSince: ago(x.died), Round: x.round(), PossibleCopy: x.twin, Quarantine: x.quarantine,
		Facts: x.facts(), FirstDrainedAt: ago(x.died), DrainedAt: ago(x.died - time.Second),
		ContentType: "application/json", BodySize: int64(len(text)), BodySHA256: sum[:], BodyPreview: text, BodyIsText: !strings.Contains(text, "\x00"),
	}, nil
}

func (x situation) text() string {
	switch {
	case x.body != "":
		return x.body
	case x.business == Hostile:
		return Hostile
	}
	return body
}

func (x situation) sourceName() string {
	if x.source != "" {
		return x.source
	}
	return "pay-success"
}

func (x situation) round() int {
	if x.lives > 0 {
		return x.lives
	}
	if len(x.attempts) > 0 && (x.business == Hostile || x.attempts[0].Outcome == replay.DeadAgain) {
		return 2
	}
	return 1
}

func (x situation) facts() dlq.Facts {
	f := dlq.Facts{
		BusinessKey: x.business, Reason: x.reason, Failure: x.failure, RetryCount: new(int64(5)), RetryCountSource: dlq.RetriesFromFramework,
		Original:    dlq.Origin{Queue: "q.pay.success", Exchange: new("ex.pay"), RoutingKey: new("pay.success"), Evidence: "x-death"},
		FirstDiedAt: ago(x.died + 12*time.Minute + 20*time.Second), DiedAt: ago(x.died),
	}
	if f.Reason == "" {
		f.Reason = dlq.Rejected
	}
	if x.reason == dlq.Expired {
		f.RetryCount, f.RetryCountSource = nil, ""
	}
	if x.source == "order-callback" {
		f.Original.Queue = "q.order.callback"
	}
	if x.queue != "" {
		f.Original = dlq.Origin{Queue: x.queue, Exchange: new(x.queue), RoutingKey: new(x.queue), Evidence: dlq.OriginXDeath}
	}
	f = x.extracted(f)
	if x.origin != nil {
		f.Original = *x.origin
	}
	return f
}

// List returns the messages that f selects, newest death first.
func (s *Store) List(_ context.Context, f dlq.Filter) (dlq.Page, error) {
	defer s.lock()()
	if s.Err != nil {
		return dlq.Page{}, s.Err
	}
	if f.Cursor != "" && f.Cursor != "next" {
		return dlq.Page{}, dlq.ErrBadCursor
	}
	var page dlq.Page
	for id := range s.looks {
		m, _ := s.message(id)
		if selects(f, m) {
			page.Messages = append(page.Messages, m)
		}
	}
	slices.SortFunc(page.Messages, func(a, b dlq.Message) int { return b.DiedAt.Compare(a.DiedAt) })
	page.Total = dlq.Count{N: int64(len(page.Messages)), Exact: true}
	if limit := f.Limit; limit > 0 && len(page.Messages) > limit {
		if f.Cursor == "" {
			page.Messages, page.Next = page.Messages[:limit], "next"
		} else {
			page.Messages = page.Messages[limit:]
		}
	}
	return page, nil
}

func selects(f dlq.Filter, m dlq.Message) bool {
	return (f.Source == "" || m.Source == f.Source) && (f.Reason == "" || m.Reason == f.Reason) &&
		(f.Mark == "" || f.Mark == dlq.MarkQuarantine && m.Quarantine != "" || f.Mark == dlq.MarkPossibleCopy && m.PossibleCopy) &&
		(f.FailureType == "" || m.Failure.Type == f.FailureType) &&
		(len(f.States) == 0 || slices.Contains(f.States, m.State)) &&
		(f.Text == "" || strings.Contains(strings.ToLower(m.BodyPreview), strings.ToLower(f.Text))) &&
		(f.RetriesMin == nil || m.RetryCount != nil && *m.RetryCount >= *f.RetriesMin) &&
		(f.RetriesMax == nil || m.RetryCount != nil && *m.RetryCount <= *f.RetriesMax)
}

// Facets counts all messages, whatever the filter.
func (s *Store) Facets(ctx context.Context, _ dlq.Filter) (dlq.Facets, error) {
	page, err := s.List(ctx, dlq.Filter{})
	out := dlq.Facets{Sources: map[string]int64{}, States: map[dlq.State]int64{}, Reasons: map[dlq.Reason]int64{}, Types: map[string]int64{}, Exact: true}
	for _, m := range page.Messages {
		out.Sources[m.Source]++
		out.States[m.State]++
		out.Reasons[m.Reason]++
		if m.Failure.Type != "" {
			out.Types[m.Failure.Type]++
		}
	}
	return out, err
}

// Message returns one message, or dlq.ErrNotFound.
func (s *Store) Message(_ context.Context, id string) (dlq.Message, error) {
	defer s.lock()()
	if s.Err != nil {
		return dlq.Message{}, s.Err
	}
	return s.message(id)
}

// LivesBefore returns one life for each round, the newest first.
func (s *Store) LivesBefore(_ context.Context, id string, before, limit int) ([]dlq.Life, error) {
	defer s.lock()()
	m, err := s.message(id)
	var lives []dlq.Life
	for round := m.Round; round > 0 && len(lives) < limit; round-- {
		if before == 0 || round < before {
			lives = append(lives, life(m, round))
		}
	}
	return lives, err
}

// LivesAfter returns one life for each round, the oldest first.
func (s *Store) LivesAfter(_ context.Context, id string, after, limit int) ([]dlq.Life, error) {
	defer s.lock()()
	m, err := s.message(id)
	var lives []dlq.Life
	for round := after + 1; round <= m.Round && len(lives) < limit; round++ {
		lives = append(lives, life(m, round))
	}
	return lives, err
}

// LifeOfReplay returns the life that a sample replay brought.
func (s *Store) LifeOfReplay(_ context.Context, id string, replay int64, sent int) (dlq.Life, error) {
	defer s.lock()()
	m, err := s.message(id)
	for round := sent + 1; round <= m.Round; round++ {
		if l := life(m, round); l.ReplayID == replay {
			return l, nil
		}
	}
	if err == nil {
		err = dlq.ErrNotFound
	}
	return dlq.Life{}, err
}

// Life returns one life; round 0 is the current one.
func (s *Store) Life(_ context.Context, id string, round int) (dlq.Life, error) {
	defer s.lock()()
	m, err := s.message(id)
	if err == nil && round > m.Round {
		err = dlq.ErrNotFound
	}
	return life(m, round), err
}

func life(m dlq.Message, round int) dlq.Life {
	l := dlq.Life{
		MessageID: m.ID, Round: round, DrainedAt: m.DrainedAt, DiedAtKnown: true, Facts: m.Facts, Exchange: "ex.pay.dlx", RoutingKey: "terminal",
		Properties: rabbit.Properties{ContentType: m.ContentType, DeliveryMode: 2, MessageID: "m-7c1f0be2-001", AppID: "gateway", Timestamp: 1790534357},
		Headers:    headers(m), BodySize: m.BodySize, BodySHA256: m.BodySHA256,
	}
	if m.Quarantine != "" {
		l.Headers, l.RawHeaders = nil, []byte("\x00\x00\x00\x10\x01aF\x00\x00\x00\x09"+Hostile)
	}
	if round > 1 {
		l.ReplayID = 79
		if m.ID == DiscardedID {
			l.ReplayID = 83
		}
	}
	return l
}

func headers(m dlq.Message) rabbit.Table {
	h := rabbit.Table{
		"x-death": []any{
			rabbit.Table{"count": int64(4), "queue": "q.pay.dlx.wait.5m", "reason": "expired", "time": ago(15 * time.Minute), "exchange": "ex.pay.dlx", "routing-keys": []any{"wait5m"}},
			rabbit.Table{"count": int64(5), "queue": m.Original.Queue, "reason": "rejected", "time": m.FirstDiedAt, "exchange": "ex.pay", "routing-keys": []any{"pay.success"}},
		},
		"x-first-death-queue": m.Original.Queue, "x-exception-message": m.Failure.Message, "x-exception-stacktrace": strings.Repeat(m.Failure.Stack+"\n", 3),
		"x-original-exchange": "ex.pay", "x-original-routingKey": "pay.success", "x-message-id": "m-7c1f0be2-001", "x-retry-count": int32(5),
		"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "published-at": time.Unix(1790534357, 0), "flags": []byte{0xca, 0xfe},
	}
	if m.ID == EnvelopeID || m.ID == EditedID {
		return rabbit.Table{"x-death": h["x-death"]}
	}
	if m.BusinessKey == Hostile {
		h[Hostile] = Hostile
	}
	return h
}

// Neighbours returns the two messages around m in the whole list.
func (s *Store) Neighbours(ctx context.Context, _ dlq.Filter, m dlq.Message) (newer, older string, err error) {
	page, err := s.List(ctx, dlq.Filter{})
	i := slices.IndexFunc(page.Messages, func(x dlq.Message) bool { return x.ID == m.ID })
	if i > 0 {
		newer = page.Messages[i-1].ID
	}
	if i >= 0 && i+1 < len(page.Messages) {
		older = page.Messages[i+1].ID
	}
	return newer, older, err
}

// BodyFacts returns the size of a body.
func (s *Store) BodyFacts(_ context.Context, id string, round int) (dlq.BodyFacts, error) {
	defer s.lock()()
	m, err := s.message(id)
	if err == nil && round > m.Round {
		err = dlq.ErrNotFound
	}
	if round == 0 {
		round = m.Round
	}
	return dlq.BodyFacts{Round: round, Size: m.BodySize, SHA256: m.BodySHA256}, err
}

// BodyPart returns a part of the body.
func (s *Store) BodyPart(_ context.Context, id string, _ int, offset int64, most int) ([]byte, error) {
	defer s.lock()()
	s.Parts++
	text := s.looks[id].text()
	start := min(int(offset), len(text))
	return []byte(text[start:min(start+most, len(text))]), s.Err
}

// Notes returns the notes of a message.
func (s *Store) Notes(_ context.Context, id string) ([]dlq.Note, error) {
	defer s.lock()()
	return s.notes[id], nil
}

// NotesAfter returns the notes of a message after one of them.
func (s *Store) NotesAfter(ctx context.Context, id string, after int64, limit int) ([]dlq.Note, error) {
	notes, err := s.Notes(ctx, id)
	notes = slices.DeleteFunc(slices.Clone(notes), func(n dlq.Note) bool { return n.ID <= after })
	return notes[:min(len(notes), limit)], err
}

// AddNote keeps a note.
func (s *Store) AddNote(_ context.Context, id, text string, a dlq.Act) error {
	defer s.lock()()
	if _, err := s.message(id); err != nil {
		return err
	}
	s.Acts = append(s.Acts, a)
	s.notes[id] = append(s.notes[id], dlq.Note{ID: int64(len(s.notes[id]) + 1), At: a.At, Actor: a.Actor, Text: text})
	return nil
}

// Discard discards what is open.
func (s *Store) Discard(_ context.Context, ids []string, a dlq.Act) ([]dlq.ActResult, error) {
	return s.move(ids, dlq.Open, dlq.Discarded, a)
}

// Restore opens what is discarded.
func (s *Store) Restore(_ context.Context, ids []string, a dlq.Act) ([]dlq.ActResult, error) {
	return s.move(ids, dlq.Discarded, dlq.Open, a)
}

func (s *Store) move(ids []string, from, to dlq.State, a dlq.Act) ([]dlq.ActResult, error) {
	defer s.lock()()
	if s.Err != nil {
		return nil, s.Err
	}
	s.Acts = append(s.Acts, a)
	results := make([]dlq.ActResult, len(ids))
	for i, id := range ids {
		x, ok := s.looks[id]
		switch {
		case !ok:
			results[i] = dlq.ActResult{ID: id, Result: dlq.ResultNotFound}
			continue
		case x.state != from:
			results[i] = dlq.ActResult{ID: id, Result: dlq.ResultBadState, State: x.state}
			continue
		}
		x.state = to
		s.looks[id] = x
		results[i] = dlq.ActResult{ID: id, Result: dlq.ResultDone, State: to}
	}
	return results, nil
}

// Reimport takes QuarantinedID out of quarantine, unless Refuses says why not.
func (s *Store) Reimport(_ context.Context, ids []string, a dlq.Act) ([]dlq.ActResult, error) {
	defer s.lock()()
	if s.Err != nil {
		return nil, s.Err
	}
	s.Acts = append(s.Acts, a)
	results := make([]dlq.ActResult, len(ids))
	for i, id := range ids {
		x, ok := s.looks[id]
		results[i] = dlq.ActResult{ID: id, Result: dlq.ResultDone, State: x.state}
		switch {
		case !ok:
			results[i].Result = dlq.ResultNotFound
		case x.quarantine == "":
			results[i].Result = dlq.ResultBadState
		case s.Refuses != "":
			results[i].Result, results[i].Why = dlq.ResultRefused, s.Refuses
		default:
			x.quarantine = ""
			s.looks[id] = x
		}
	}
	return results, nil
}

// NotACopy takes the mark off.
func (s *Store) NotACopy(_ context.Context, id string, a dlq.Act) error {
	defer s.lock()()
	x, ok := s.looks[id]
	switch {
	case !ok:
		return dlq.ErrNotFound
	case !x.twin:
		return dlq.ErrNotMarked
	}
	x.twin = false
	s.looks[id] = x
	s.Acts = append(s.Acts, a)
	return s.Err
}

// lookalikes are the message that CopyID may be a copy of, and CopyID for that.
func (s *Store) lookalikes(id string) dlq.Lookalikes {
	defer s.lock()()
	other, ok := map[string]string{CopyID: WillRunID, WillRunID: CopyID}[id]
	if !ok || !s.looks[CopyID].twin {
		return dlq.Lookalikes{All: true}
	}
	m, _ := s.message(other)
	return dlq.Lookalikes{Messages: []dlq.Message{m}, All: id == WillRunID}
}

// BusinessKeys returns the keys of the messages that are there.
func (s *Store) BusinessKeys(_ context.Context, ids []string) (map[string]string, error) {
	defer s.lock()()
	found := map[string]string{}
	for _, id := range ids {
		if x, ok := s.looks[id]; ok && x.business != "" {
			found[id] = x.business
		}
	}
	return found, s.Err
}

// IDsOf returns the messages with a business key.
func (s *Store) IDsOf(_ context.Context, business string) ([]string, error) {
	defer s.lock()()
	var ids []string
	for id, x := range s.looks {
		if x.business == business {
			ids = append(ids, id)
		}
	}
	return ids, s.Err
}

// Add puts one more open message on top of the list.
func (s *Store) Add(id string) {
	defer s.lock()()
	s.looks[id] = situation{business: id, state: dlq.Open, died: time.Second, failure: timeout, verdict: replay.WillRun, why: replay.WhyAbsent, key: keys.Absent, order: "INIT"}
}

// Set gives a message another state.
func (s *Store) Set(id string, state dlq.State) {
	defer s.lock()()
	x := s.looks[id]
	x.state = state
	s.looks[id] = x
}

// Figures are the figures of the sample sources.
func (s *Store) Figures(ctx context.Context, _ time.Time) ([]dlq.SourceFigures, error) {
	counts, err := s.OpenCounts(ctx)
	pay, order := counts["pay-success"], counts["order-callback"]
	pay.Last6h = []int64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 200, 179}
	order.Last6h = []int64{0, 0, 0, 0, 0, 0, 0, 0, 2, 6, 8, 4, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	pay.TopFailureType, pay.TopFailureMessage, pay.TopReason, pay.TopCount = timeout.Type, timeout.Message, dlq.Rejected, 4
	order.TopReason, order.TopCount = dlq.Expired, 2
	points := dlq.SourceFigures{Source: "points", Last6h: make([]int64, 24), LastDrainedAt: ago(6 * time.Hour)}
	return []dlq.SourceFigures{pay, order, points}, err
}

// OpenCounts counts what is open.
func (s *Store) OpenCounts(context.Context) (map[string]dlq.SourceFigures, error) {
	defer s.lock()()
	if s.Err != nil {
		return nil, s.Err
	}
	counts := map[string]dlq.SourceFigures{}
	for id, x := range s.looks {
		m, _ := s.message(id)
		f := counts[m.Source]
		f.Source, f.LastDrainedAt = m.Source, ago(time.Second)
		if x.state == dlq.Open {
			f.Open++
			if f.OldestOpen.IsZero() || m.DiedAt.Before(f.OldestOpen) {
				f.OldestOpen = m.DiedAt
			}
			if x.quarantine != "" {
				f.Quarantined++
			}
		}
		counts[m.Source] = f
	}
	return counts, nil
}

package dlq

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"net"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// sort decides for each letter of a window what it is. Its questions go to the
// store as the transaction sees it; threads that letters may join are locked, in
// the order of their ids.
func (l *ledger) sort(ctx context.Context, tx pgx.Tx, letters []*letter, at time.Time) (*batch, error) {
	b := &batch{window: newID(), at: at}
	for _, x := range letters {
		if x.streamed { // its life has its id already
			continue
		}
		x.id, x.round, x.replay, x.possibleCopy, x.doneAs = newID(), 1, 0, false, ""
	}
	rest, err := l.takeKnown(ctx, tx, b, letters)
	if err != nil {
		return nil, err
	}
	if err := markCopies(ctx, tx, l.source.Name, rest, at); err != nil {
		return nil, err
	}
	threads, err := loadThreads(ctx, tx, l.source.Name, rest)
	if err != nil {
		return nil, err
	}
	for _, x := range rest {
		b.add(x, threads)
	}
	return b, nil
}

// takeKnown finds the letters that are stored already, whose receipts pass on
// to this window, and returns the other letters.
//
// It also finds out whether messages behind this window may be marked as
// redelivered by now. What was given back stands at the head of the queue, so
// none is where the last letter came for the first time; and behind a window
// that came back as a whole it is as it was when that window was drained.
func (l *ledger) takeKnown(ctx context.Context, tx pgx.Tx, b *batch, letters []*letter) ([]*letter, error) {
	if l.doubt <= 0 {
		b.marked = letters[len(letters)-1].delivery.Redelivered
		return letters, nil
	}
	outstanding, err := loadReceipts(ctx, tx, l.source.Name)
	if err != nil {
		return nil, err
	}
	sightings := make([]sighting, len(letters))
	for i, x := range letters {
		_, counted := x.delivery.Headers["x-delivery-count"]
		sightings[i] = sighting{x.fingerprint, x.delivery.Redelivered, counted}
	}
	found := recognise(sightings, outstanding, l.first)
	if l.distrust {
		maps.Copy(found.suspects, found.same)
		found.same = nil
	}
	var rest []*letter
	var met []receipt
	for i, x := range letters {
		if id, ok := found.same[i]; ok {
			b.known = append(b.known, outstanding[id])
			continue
		}
		if id, ok := found.suspects[i]; ok {
			x.possibleCopy = true
			met = append(met, outstanding[id])
		}
		rest = append(rest, x)
	}
	met = append(met, b.known...)
	b.settled = len(met)
	if last := len(letters) - 1; letters[last].delivery.Redelivered {
		b.marked = true
		if id, ok := found.same[last]; ok {
			b.marked = outstanding[id].marked || !endsItsWindow(outstanding, int(id))
		}
	}
	return rest, take(ctx, tx, met)
}

// endsItsWindow says whether a receipt is the last of its window's.
func endsItsWindow(all []receipt, i int) bool {
	return i == len(all)-1 || all[i+1].window != all[i].window
}

// markCopies marks redeliveries without a receipt whose like is stored. A
// broker that is killed forgets acks of the last moments; what it then delivers
// again cannot be told from a twin.
func markCopies(ctx context.Context, tx pgx.Tx, source string, letters []*letter, now time.Time) error {
	asked := map[fingerprint]bool{}
	for _, x := range letters {
		if x.delivery.Redelivered {
			asked[x.fingerprint] = true
		}
	}
	if len(asked) == 0 {
		return nil
	}
	seen, err := storedBefore(ctx, tx, source, asked, now)
	if err != nil {
		return err
	}
	for _, x := range letters {
		x.possibleCopy = x.possibleCopy || (x.delivery.Redelivered && seen[x.fingerprint])
	}
	return nil
}

// loadThreads reads the messages that letters say they belong to, and locks
// those of the source, which they may join.
func loadThreads(ctx context.Context, tx pgx.Tx, source string, letters []*letter) (map[uuid.UUID]*thread, error) {
	threads := map[uuid.UUID]*thread{}
	var ids []uuid.UUID
	for _, x := range letters {
		if c, ok := x.comeback(); ok {
			ids = append(ids, c.message)
		}
	}
	if len(ids) == 0 {
		return threads, nil
	}
	var id uuid.UUID
	var round int
	var state State
	const lock = `SELECT id, round, state FROM dead_letters WHERE id = ANY ($1) AND source = $2 ORDER BY id FOR UPDATE`
	err := eachRow(ctx, tx, lock, []any{ids, source}, []any{&id, &round, &state}, func() {
		threads[id] = &thread{
			ours: true, state: state, round: round,
			lives: map[int][sha256.Size]byte{}, sent: map[int64]sending{}, back: map[int64]bool{},
		}
	})
	if err != nil {
		return nil, err
	}
	var replay int64
	var sha []byte
	const lives = `SELECT message_id, round, coalesce(replay_id, 0), body_sha256 FROM lives WHERE message_id = ANY ($1)`
	err = eachRow(ctx, tx, lives, []any{ids}, []any{&id, &round, &replay, &sha}, func() {
		if threads[id] == nil {
			threads[id] = &thread{lives: map[int][sha256.Size]byte{}}
		}
		t := threads[id]
		t.lives[round] = [sha256.Size]byte(sha)
		if t.ours && replay != 0 {
			t.back[replay] = true
		}
	})
	if err != nil {
		return nil, err
	}
	var s sending
	const attempts = `SELECT message_id, replay_id, round, coalesce(to_queue, ''), settled_at IS NOT NULL, sent_sha256
		FROM attempts WHERE message_id = ANY ($1) AND route IS NOT NULL`
	err = eachRow(ctx, tx, attempts, []any{ids}, []any{&id, &replay, &s.round, &s.queue, &s.settled, &sha}, func() {
		s.body = nil
		if len(sha) == sha256.Size {
			s.body = new([sha256.Size]byte(sha))
		}
		if t := threads[id]; t != nil && t.ours {
			t.sent[replay] = s
		}
	})
	return threads, err
}

func eachRow(ctx context.Context, tx pgx.Tx, sql string, args, into []any, do func()) error {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, into, func() error { do(); return nil })
	return err
}

// add puts x where it belongs.
func (b *batch) add(x *letter, threads map[uuid.UUID]*thread) {
	c, ok := x.comeback()
	t := threads[c.message]
	if !ok || t == nil {
		b.fresh = append(b.fresh, x)
		return
	}
	switch t.place(c, x.bodies(), x.facts.Original.Queue) {
	case nextLife:
		x.doneAs = t.grow(c, x.sha)
		x.id, x.round, x.replay, x.possibleCopy = c.message, t.round, c.replay, false
		b.reborn = append(b.reborn, x)
	case lookalike:
		x.possibleCopy = true
		b.fresh = append(b.fresh, x)
	case stranger:
		b.fresh = append(b.fresh, x)
	}
}

func isNetwork(err error) bool {
	var op net.Error
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

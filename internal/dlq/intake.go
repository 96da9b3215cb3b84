package dlq

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// streamed is how many letters go to Postgres at a time while a window fills;
// as many again may wait.
const streamed = 500

// intake brings one window into the store while it still fills: ordinary letters
// go to Postgres as they come, all others once the window is complete. Nothing
// is seen by others before the commit.
type intake struct {
	ledger  *ledger
	at      time.Time // when the window began
	letters []*letter

	tx     pgx.Tx
	stream chan *letter // closed once the window is complete
	copied chan error   // the stream's end, and how it ended
	err    error        // why there is no transaction
}

// take takes the next letter of the window.
func (in *intake) take(ctx context.Context, x *letter) {
	in.letters = append(in.letters, x)
	if in.tx == nil && in.err == nil {
		in.begin(ctx)
	}
	if in.err != nil || !x.ordinary() {
		return
	}
	select {
	case in.stream <- x:
		x.streamed = true
	case err := <-in.copied:
		in.err = err
	}
}

// ordinary says whether it is clear without a question to the store that x is a
// message of its own.
func (l *letter) ordinary() bool {
	if l.delivery.Redelivered {
		return false
	}
	_, back := l.comeback()
	return !back
}

// begin opens the transaction and the stream. Neither waits for long: a Postgres
// that takes connections and answers nothing must not hold a window back unseen.
func (in *intake) begin(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if in.tx, in.err = in.ledger.conn.Begin(asking); in.err != nil {
		return
	}
	stream, copied := make(chan *letter, streamed), make(chan error, 1)
	in.stream, in.copied = stream, copied
	go func() {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		copied <- in.copy(ctx, stream)
	}()
}

// copy writes what comes, some hundred letters at a time.
func (in *intake) copy(ctx context.Context, stream <-chan *letter) error {
	for {
		letters := receive(stream, streamed)
		if len(letters) == 0 {
			return nil
		}
		if err := in.ledger.copyFresh(ctx, in.tx, letters); err != nil {
			return err
		}
	}
}

// receive returns the next n letters, and fewer only at the stream's end.
func receive(stream <-chan *letter, n int) []*letter {
	var letters []*letter
	for x := range stream {
		if letters = append(letters, x); len(letters) == n {
			break
		}
	}
	return letters
}

// endStream waits until what was streamed has arrived.
func (in *intake) endStream() {
	if in.stream == nil {
		return
	}
	close(in.stream)
	if in.err == nil {
		in.err = <-in.copied
	}
	in.stream = nil
}

// abandon forgets a window that did not come to its end.
func (in *intake) abandon(ctx context.Context) {
	in.endStream()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if in.tx != nil {
		_ = in.tx.Rollback(ctx) // the lost connection has the same end
	}
}

// store commits the window: one transaction for all of it. A letter that
// Postgres refuses for what is in it is quarantined, and costs the others
// nothing but a second try, one by one. Any other error means that the window is
// not stored, or not known to be.
func (in *intake) store(ctx context.Context) (*batch, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if in.tx == nil && in.err == nil {
		in.begin(ctx)
	}
	b, err := in.commit(ctx)
	if err != nil {
		in.abandon(ctx)
	}
	l := in.ledger
	if isRefusal(err) && !l.conn.IsClosed() {
		each, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		b, err = l.storeEach(each, in.letters, in.at)
	}
	if err != nil {
		return nil, fmt.Errorf("dlq: store window: %w", err)
	}
	l.doubt -= b.settled
	l.first = l.first && len(b.known) == len(in.letters)
	return b, nil
}

func (in *intake) commit(ctx context.Context) (*batch, error) {
	in.endStream()
	if in.err != nil {
		return nil, in.err
	}
	b, err := in.ledger.write(ctx, in.tx, in.letters, in.at, in.ledger.writeAll)
	if err != nil {
		return nil, err
	}
	return b, in.tx.Commit(ctx)
}

package dlq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
)

// batch is a window on its way into the store: each letter that is not stored
// already stands in one of the first two, and gets a row and a receipt.
type batch struct {
	window  uuid.UUID
	at      time.Time
	fresh   []*letter // new messages
	reborn  []*letter // next lives of known ones
	known   []receipt // of letters that are stored already
	settled int       // receipts of earlier drains that were met
	marked  bool      // messages behind the window may be marked as redelivered
}

// storeEach commits a window of which Postgres refuses something.
func (l *ledger) storeEach(ctx context.Context, letters []*letter, at time.Time) (*batch, error) {
	for _, x := range letters {
		x.streamed = false
	}
	var b *batch
	err := pgx.BeginFunc(ctx, l.conn, func(tx pgx.Tx) (err error) {
		b, err = l.write(ctx, tx, letters, at, l.writeEach)
		return err
	})
	return b, err
}

// errRehearsed ends a transaction that was not meant.
var errRehearsed = errors.New("rehearsed")

// rehearse says whether the store would take letters now, without storing them.
// Letters that it would refuse for what is in them it would take in quarantine.
func (l *ledger) rehearse(ctx context.Context, letters []*letter) error {
	if len(letters) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for _, x := range letters {
		x.streamed = false
	}
	quiet := *l
	quiet.returns = nil // it counts what it is told
	for _, write := range []func(context.Context, pgx.Tx, *batch) error{quiet.writeAll, quiet.writeEach} {
		err := pgx.BeginFunc(ctx, l.conn, func(tx pgx.Tx) error {
			if _, err := quiet.write(ctx, tx, letters, time.Now(), write); err != nil {
				return err
			}
			return errRehearsed
		})
		if errors.Is(err, errRehearsed) {
			return nil
		}
		if !isRefusal(err) {
			return err
		}
	}
	return nil
}

// write writes all of a window but what was streamed.
func (l *ledger) write(
	ctx context.Context, tx pgx.Tx, letters []*letter, at time.Time, write func(context.Context, pgx.Tx, *batch) error,
) (*batch, error) {
	b, err := l.sort(ctx, tx, letters, at)
	if err != nil {
		return nil, err
	}
	if err := write(ctx, tx, b); err != nil {
		return nil, err
	}
	if err := b.enterWindow(ctx, tx, l.source.Name); err != nil {
		return nil, err
	}
	const drained = `UPDATE source_settings SET last_drained_at = $2 WHERE source = $1`
	_, err = tx.Exec(ctx, drained, l.source.Name, at)
	return b, err
}

// writeAll writes a batch, or fails as a whole.
func (l *ledger) writeAll(ctx context.Context, tx pgx.Tx, b *batch) error {
	fresh := slices.DeleteFunc(slices.Clone(b.fresh), func(x *letter) bool { return x.streamed })
	if err := l.copyFresh(ctx, tx, fresh); err != nil {
		return err
	}
	if err := l.reopen(ctx, tx, b.reborn); err != nil {
		return err
	}
	if err := copyRows(ctx, tx, "lives", lifeColumns, b.reborn, (*letter).life); err != nil || len(b.reborn) == 0 {
		return err
	}
	ids := make([]uuid.UUID, len(b.reborn))
	for i, x := range b.reborn {
		ids[i] = x.id
	}
	return writeSearchText(ctx, tx, ids) // what it said in its last life must not find it
}

// copyFresh writes letters that are messages of their own.
func (l *ledger) copyFresh(ctx context.Context, tx pgx.Tx, letters []*letter) error {
	if err := copyRows(ctx, tx, "lives", lifeColumns, letters, (*letter).life); err != nil {
		return err
	}
	row := func(x *letter) []any { return x.deadLetter(l.source.Name) }
	return copyRows(ctx, tx, "dead_letters", deadLetterColumns, letters, row)
}

// writeEach writes a batch in parts, and quarantines the letters that are
// refused: a part that is refused is halved until the letter at fault is alone.
func (l *ledger) writeEach(ctx context.Context, tx pgx.Tx, b *batch) error {
	var kept batch
	sift := func(letters []*letter, as func([]*letter) batch) error {
		return halve(letters, func(part []*letter) error {
			whole := as(part)
			err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return l.writeAll(ctx, tx, &whole) })
			if isRefusal(err) && len(part) == 1 {
				q := part[0].quarantined("Postgres refused it: " + cut(displayable(err.Error()), maxQuarantine))
				whole = batch{fresh: []*letter{q}}
				err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return l.writeAll(ctx, tx, &whole) })
			}
			if err == nil {
				kept.fresh, kept.reborn = append(kept.fresh, whole.fresh...), append(kept.reborn, whole.reborn...)
			}
			return err
		})
	}
	if err := sift(b.fresh, func(part []*letter) batch { return batch{fresh: part} }); err != nil {
		return err
	}
	if err := sift(b.reborn, func(part []*letter) batch { return batch{reborn: part} }); err != nil {
		return err
	}
	b.fresh, b.reborn = kept.fresh, kept.reborn
	return nil
}

// halve does something with all letters, or, where it is refused, with each half.
func halve(letters []*letter, do func([]*letter) error) error {
	if len(letters) == 0 {
		return nil
	}
	err := do(letters)
	if !isRefusal(err) || len(letters) == 1 {
		return err
	}
	middle := len(letters) / 2
	if err := halve(letters[:middle], do); err != nil {
		return err
	}
	return halve(letters[middle:], do)
}

// reopen gives messages their next life, and tells the replays that sent them.
func (l *ledger) reopen(ctx context.Context, tx pgx.Tx, letters []*letter) error {
	for _, x := range letters {
		if _, err := tx.Exec(ctx, reopenSQL, x.reopening()); err != nil {
			return err
		}
		if err := auditReturn(ctx, tx, x); err != nil {
			return err
		}
		if l.returns == nil {
			continue
		}
		err := l.returns.NoteReturn(ctx, tx, x.id.String(), x.replay, x.arrived)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// auditReturn keeps that a message is open again which somebody had taken for
// done: whoever discarded it finds out why it is back.
func auditReturn(ctx context.Context, tx pgx.Tx, x *letter) error {
	if x.doneAs == "" {
		return nil
	}
	return audit.Write(ctx, tx, audit.Entry{
		At: x.arrived, Actor: "console", Act: audit.ActCorrect, Object: "message " + x.id.String(),
		OperationID: fmt.Sprintf("replay %d", x.replay), Result: "dead_again",
		Reason: fmt.Sprintf("was %s; what this replay had sent came back dead, so it is open again", x.doneAs),
	})
}

// isRefusal says whether Postgres, or the client library before it, refused
// what a row holds: another try will not help, but other rows may go.
func isRefusal(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return isEncoding(err)
	}
	switch class := pgErr.Code[:min(2, len(pgErr.Code))]; class {
	case "22", "23", "54": // data, constraint, program limit
		return true
	}
	return false
}

// isEncoding says whether err came up in this process, with no part of the
// network in it: then a value could not be written in Postgres' form.
func isEncoding(err error) bool {
	var connect *pgconn.ConnectError
	return !errors.As(err, &connect) && !pgconn.SafeToRetry(err) && !pgconn.Timeout(err) && !isNetwork(err)
}

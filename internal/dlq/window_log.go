package dlq

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	idSize    = len(uuid.UUID{})
	printSize = len(fingerprint{})
	// copiesWithin is how far back a redelivery is compared with what is stored: a
	// broker forgets acks of its last moments only.
	copiesWithin = 24 * time.Hour
	// maxWindowsCompared bounds the same; of the newest.
	maxWindowsCompared = 500
)

// enterWindow writes down what a window held: the letters that got a row, and
// those whose receipts pass on to it. All of them are in doubt now.
func (b *batch) enterWindow(ctx context.Context, tx pgx.Tx, source string) error {
	n := len(b.fresh) + len(b.reborn) + len(b.known)
	ids, prints := make([]byte, 0, n*idSize), make([]byte, 0, n*printSize)
	for _, letters := range [][]*letter{b.fresh, b.reborn} {
		for _, x := range letters {
			ids, prints = append(ids, x.id[:]...), append(prints, x.fingerprint[:]...)
		}
	}
	for _, r := range b.known {
		ids, prints = append(ids, r.message[:]...), append(prints, r.fingerprint[:]...)
	}
	const sql = `
		INSERT INTO windows (id, source, drained_at, message_ids, fingerprints, outstanding, marked)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`
	_, err := tx.Exec(ctx, sql, b.window, source, b.at, ids, prints, n, b.marked)
	return err
}

// loadReceipts reads the receipts that earlier drains left, the oldest first.
func loadReceipts(ctx context.Context, tx pgx.Tx, source string) ([]receipt, error) {
	const sql = `
		SELECT id, message_ids, fingerprints, coalesce(taken, ''), looks, marked FROM windows
		WHERE source = $1 AND outstanding > 0 AND looks > 0 ORDER BY drained_at, id`
	var all []receipt
	var id uuid.UUID
	var ids, prints, taken []byte
	var looks int
	var marked bool
	err := eachRow(ctx, tx, sql, []any{source}, []any{&id, &ids, &prints, &taken, &looks, &marked}, func() {
		for i := range len(prints) / printSize {
			if i < len(taken) && taken[i] != 0 {
				continue
			}
			all = append(all, receipt{
				id: int64(len(all)), window: id, place: i, looks: looks, marked: marked,
				message: uuid.UUID(ids[i*idSize:]), fingerprint: fingerprint(prints[i*printSize:]),
			})
		}
	})
	return all, err
}

// take ends the receipts given: they have been met.
func take(ctx context.Context, tx pgx.Tx, met []receipt) error {
	for _, window := range byWindow(met) {
		places := make([]int32, len(window))
		for i, r := range window {
			places[i] = int32(r.place) //nolint:gosec // bounded by the size of a window
		}
		const sql = `
			UPDATE windows SET outstanding = outstanding - cardinality(@places::integer[]), taken = (
				SELECT string_agg(CASE WHEN place = ANY (@places)
					OR (taken IS NOT NULL AND get_byte(taken, place) <> 0) THEN '\x01'::bytea ELSE '\x00'::bytea END, '' ORDER BY place)
				FROM generate_series(0, length(fingerprints) / @print::integer - 1) AS place)
			WHERE id = @id`
		args := pgx.NamedArgs{"id": window[0].window, "places": places, "print": printSize}
		if _, err := tx.Exec(ctx, sql, args); err != nil {
			return err
		}
	}
	return nil
}

// storedBefore returns which of the fingerprints were drained from source in
// the last day.
func storedBefore(ctx context.Context, tx pgx.Tx, source string, asked map[fingerprint]bool, now time.Time) (map[fingerprint]bool, error) {
	const sql = `
		SELECT fingerprints FROM windows WHERE source = $1 AND drained_at > $2
		ORDER BY drained_at DESC LIMIT $3`
	seen := map[fingerprint]bool{}
	var prints []byte
	err := eachRow(ctx, tx, sql, []any{source, now.Add(-copiesWithin), maxWindowsCompared}, []any{&prints}, func() {
		for ; len(prints) >= printSize; prints = prints[printSize:] {
			if print := fingerprint(prints[:printSize]); asked[print] {
				seen[print] = true
			}
		}
	})
	return seen, err
}

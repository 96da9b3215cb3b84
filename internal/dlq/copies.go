package dlq

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
)

// ErrNotMarked says that the message is not marked as a possible copy.
var ErrNotMarked = errors.New("the message is not marked as a possible copy")

const (
	// maxLookalikes bounds Lookalikes.Messages.
	maxLookalikes = 20
	// nearby is how many messages of a business key are looked at, or of a
	// source in each direction from one's death.
	nearby = 2000
)

// Lookalikes are messages of one source that have the same body, byte for byte.
type Lookalikes struct {
	Messages []Message // the nearest deaths first, at most 20
	// All says that every look-alike is among Messages. Where it is false only
	// the deaths nearest to the message's own were looked at.
	All bool
}

// Lookalikes finds what m may be a copy of, where m is marked as a possible
// copy, and what may be a copy of m. Marked messages are found wherever they
// are. For others, which no index of bodies finds (it would slow the drain for
// the rare case), the 2,000 deaths before m and the 2,000 after it are looked
// at: of the same business key, or of the source where m has none.
func (s *Store) Lookalikes(ctx context.Context, m Message) (Lookalikes, error) {
	id, err := uuid.Parse(m.ID)
	if err != nil {
		return Lookalikes{}, fmt.Errorf("dlq: look-alikes of %q: %w", cut(m.ID, 64), ErrNotFound)
	}
	var ids []uuid.UUID
	var looked int
	err = s.pool.QueryRow(ctx, lookalikesSQL(m), planned, pgx.NamedArgs{
		"id": id, "source": m.Source, "key": m.BusinessKey, "sha": m.BodySHA256, "size": m.BodySize,
		"died": m.DiedAt, "nearby": nearby, "limit": maxLookalikes + 1,
	}).Scan(&ids, &looked)
	if err != nil {
		return Lookalikes{}, fmt.Errorf("dlq: look-alikes of %s: %w", id, err)
	}
	found := Lookalikes{All: len(ids) <= maxLookalikes && looked < nearby}
	ids = ids[:min(len(ids), maxLookalikes)]
	const sql = `SELECT ` + messageColumns + ` FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (id, place)
		JOIN dead_letters m ON m.id = asked.id ORDER BY asked.place`
	rows, err := s.pool.Query(ctx, sql, ids)
	if err != nil {
		return Lookalikes{}, fmt.Errorf("dlq: read look-alikes of %s: %w", id, err)
	}
	if found.Messages, err = pgx.CollectRows(rows, scanMessage); err != nil {
		return Lookalikes{}, fmt.Errorf("dlq: read look-alikes of %s: %w", id, err)
	}
	return found, nil
}

// lookalikesSQL selects the ids of m's look-alikes, and how many of the deaths
// around it were looked at.
func lookalikesSQL(m Message) string {
	// What is marked is found by its index; nothing else needs to be.
	around := `SELECT m.id, m.died_at, m.body_size, m.body_sha256 FROM dead_letters m WHERE false`
	looked := `0`
	switch {
	case !m.PossibleCopy:
	case m.BusinessKey != "":
		looked, around = `(SELECT count(*) FROM around)`, sameKey
	default:
		looked, around = `(SELECT count(*) FROM around)`, deathsAround()
	}
	return `WITH marked AS (
			SELECT m.id, m.died_at, m.body_size, m.body_sha256 FROM dead_letters m
			WHERE m.possible_copy AND m.source = @source AND m.body_sha256 = @sha LIMIT @limit
		), around AS MATERIALIZED (` + around + `)
		SELECT array(SELECT id FROM (SELECT * FROM marked UNION SELECT * FROM around) AS near
			WHERE body_sha256 = @sha AND body_size = @size AND id <> @id
			ORDER BY abs(extract(epoch FROM died_at - @died::timestamptz)), id LIMIT @limit), ` + looked
}

// sameKey selects messages of the business key.
const sameKey = `SELECT m.id, m.died_at, m.body_size, m.body_sha256 FROM dead_letters m
	WHERE m.business_key = @key AND m.source = @source LIMIT @nearby`

// deathsAround selects the messages of the source that died before and after
// one: in each order that an index has.
func deathsAround() string {
	var sides []string
	for _, state := range []string{"= 'open'", "<> 'open'"} {
		for than, order := range map[string]string{"<=": "DESC", ">": "ASC"} {
			sides = append(sides, `(SELECT m.id, m.died_at, m.body_size, m.body_sha256 FROM dead_letters m
				WHERE m.source = @source AND m.state `+state+` AND m.died_at `+than+` @died::timestamptz
				ORDER BY m.died_at `+order+`, m.id `+order+` LIMIT @nearby)`)
		}
	}
	return strings.Join(sides, ` UNION ALL `)
}

// NotACopy takes the mark of a possible copy off a message, by the word of
// whoever looked at it: from then on it is replayed like any other. Mark and
// audit entry change in one transaction. It returns ErrNotFound, or
// ErrNotMarked where there is no mark.
func (s *Store) NotACopy(ctx context.Context, id string, a Act) error {
	key, err := uuid.Parse(id)
	if err != nil {
		return fmt.Errorf("dlq: not a copy %q: %w", cut(id, 64), ErrNotFound)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var marked bool
		const lock = `SELECT possible_copy FROM dead_letters WHERE id = $1 FOR UPDATE`
		if err := tx.QueryRow(ctx, lock, key).Scan(&marked); err != nil {
			return orNotFound(err)
		}
		if !marked {
			return ErrNotMarked
		}
		if _, err := tx.Exec(ctx, `UPDATE dead_letters SET possible_copy = false WHERE id = $1`, key); err != nil {
			return err
		}
		return audit.Write(ctx, tx, audit.Entry{
			At: a.At, Actor: a.Actor, From: a.From, Act: audit.ActNotACopy,
			Object: "message " + key.String(), Reason: displayable(a.Reason), Result: audit.ResultDone,
		})
	})
	if err != nil {
		return fmt.Errorf("dlq: not a copy %s: %w", key, err)
	}
	return nil
}

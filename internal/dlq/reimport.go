package dlq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// Reimporter takes messages out of quarantine.
type Reimporter struct {
	pool    *pgxpool.Pool
	sources map[string]Source
}

// NewReimporter returns a Reimporter that finds the facts of a message as its
// source says.
func NewReimporter(pool *pgxpool.Pool, sources []Source) *Reimporter {
	r := &Reimporter{pool: pool, sources: map[string]Source{}}
	for _, s := range sources {
		r.sources[s.Name] = s
	}
	return r
}

// Reimport tries again, with the stored bytes, what the drain could not do with
// messages in quarantine: read their headers, find the facts of their deaths,
// and have Postgres take these. What then is like any other message leaves the
// quarantine. What cannot be read or is refused once more, or could not be
// published again as it was, answers ResultRefused with the reason, and stays
// as it is; what is not in quarantine, or not open, ResultBadState.
//
// Body, headers and properties are never written: they stay the bytes that
// came. A message that a replay had sent stays one of its own, marked as a
// possible copy. Each message has a transaction, with its audit entry; an error
// means that those without a result were not touched.
func (r *Reimporter) Reimport(ctx context.Context, ids []string, a Act) ([]ActResult, error) {
	var results []ActResult
	operation := uuid.NewString()
	for id, key := range distinct(ids) {
		if key == uuid.Nil {
			results = append(results, ActResult{ID: id, Result: ResultNotFound})
			continue
		}
		result, err := r.one(ctx, key, operation, a)
		if err != nil {
			return results, fmt.Errorf("dlq: re-import %s: %w", key, err)
		}
		results = append(results, result)
	}
	return results, nil
}

func (r *Reimporter) one(ctx context.Context, id uuid.UUID, operation string, a Act) (ActResult, error) {
	result := ActResult{ID: id.String()}
	err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		held, err := holdQuarantined(ctx, tx, id)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			result.Result = ResultNotFound
			return nil
		case err != nil:
			return err
		}
		result.State = held.state
		if !held.quarantined || held.state != Open {
			result.Result = ResultBadState
		} else if result.Result, result.Why, err = r.again(ctx, tx, held); err != nil {
			return err
		}
		return audit.Write(ctx, tx, audit.Entry{
			At: a.At, Actor: a.Actor, From: a.From, Act: audit.ActReimport, Object: "message " + result.ID,
			OperationID: operation, Reason: displayable(a.Reason), Result: result.Result,
		})
	})
	return result, err
}

// held is a locked message with its current life as it came.
type held struct {
	id          uuid.UUID
	source      string
	state       State
	round       int
	quarantined bool
	arrived     time.Time
	delivery    rabbit.Delivery
	properties  []byte
	headers     []byte
}

func holdQuarantined(ctx context.Context, tx pgx.Tx, id uuid.UUID) (held, error) {
	h := held{id: id}
	const lock = `SELECT source, state, round, quarantine IS NOT NULL FROM dead_letters WHERE id = $1 FOR UPDATE`
	err := tx.QueryRow(ctx, lock, id).Scan(&h.source, &h.state, &h.round, &h.quarantined)
	if err != nil || !h.quarantined {
		return h, err
	}
	const life = `SELECT drained_at, exchange, routing_key, redelivered, properties, headers, body
		FROM lives WHERE message_id = $1 AND round = $2`
	d := &h.delivery
	err = tx.QueryRow(ctx, life, id, h.round).
		Scan(&h.arrived, &d.Exchange, &d.RoutingKey, &d.Redelivered, &h.properties, &h.headers, &d.Body)
	h.arrived = h.arrived.UTC()
	return h, err
}

// again prepares and writes the facts of h; the result is ResultDone, or
// ResultRefused with the reason.
func (r *Reimporter) again(ctx context.Context, tx pgx.Tx, h held) (result, why string, err error) {
	if why := h.read(); why != "" {
		return ResultRefused, why, nil
	}
	source, known := r.sources[h.source]
	if !known { // it has left the configuration
		source = Source{Name: h.source}
	}
	x := prepare(h.delivery, source, h.arrived)
	if x.quarantine != "" {
		return ResultRefused, x.quarantine, nil
	}
	x.id, x.round = h.id, h.round
	if x.possibleCopy, err = cameBack(ctx, tx, x, h.source); err != nil {
		return "", "", err
	}
	err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return x.release(ctx, tx, h.source) })
	if isRefusal(err) {
		return ResultRefused, "Postgres refused it: " + cut(displayable(err.Error()), maxQuarantine), nil
	}
	return ResultDone, "", err
}

// read fills in the delivery from its stored bytes; why says what keeps it from
// being read, or from being published again as it was.
func (h *held) read() (why string) {
	var err error
	if h.delivery.Properties, err = rabbit.DecodeProperties(h.properties); err != nil {
		return "its properties cannot be read: " + cut(displayable(err.Error()), maxQuarantine)
	}
	if h.delivery.Headers, err = rabbit.DecodeHeaders(h.headers); err != nil {
		return "its headers cannot be read: " + cut(displayable(err.Error()), maxQuarantine)
	}
	if len(h.headers) == 0 {
		return ""
	}
	h.delivery.RawHeaders = h.headers
	written, err := rabbit.EncodeHeaders(h.delivery.Headers)
	if err != nil {
		return "its headers could not be published again: " + cut(displayable(err.Error()), maxQuarantine)
	}
	if len(written) != len(h.headers) {
		return "published again, its headers would not be the same: a name stands twice in one of their tables"
	}
	return ""
}

// cameBack says whether x names a message that has its body, or that a replay
// sent: then x may be a copy of it.
func cameBack(ctx context.Context, tx pgx.Tx, x *letter, source string) (bool, error) {
	c, ok := x.comeback()
	if !ok {
		return false, nil
	}
	threads, err := loadThreads(ctx, tx, source, []*letter{x})
	if err != nil {
		return false, err
	}
	return threads[c.message].place(c, x.bodies(), x.facts.Original.Queue) != stranger, nil
}

// Columns that a re-import leaves as they are: where a message belongs, and the
// bytes that came.
var (
	keptOfDeadLetter = []string{"id", "source", "state_changed_at", "round", "first_drained_at", "possible_copy", "drained_at"}
	keptOfLife       = []string{
		"message_id", "round", "drained_at", "exchange", "routing_key", "redelivered", "properties", "headers", "body", "replay_id",
	}
)

// release writes what the drain would have written of x, and ends its
// quarantine.
func (l *letter) release(ctx context.Context, tx pgx.Tx, source string) error {
	kept, err := keptBesides(ctx, tx, l.id)
	if err != nil {
		return err
	}
	sql, args := updateOf("dead_letters", deadLetterColumns, l.deadLetter(source), kept)
	args["id"] = l.id
	if _, err := tx.Exec(ctx, sql+` WHERE id = @id`, args); err != nil {
		return err
	}
	sql, args = updateOf("lives", lifeColumns, l.life(), keptOfLife)
	args["message_id"], args["round"] = l.id, l.round
	if _, err := tx.Exec(ctx, sql+` WHERE message_id = @message_id AND round = @round`, args); err != nil {
		return err
	}
	if l.possibleCopy {
		if _, err := tx.Exec(ctx, `UPDATE dead_letters SET possible_copy = true WHERE id = $1`, l.id); err != nil {
			return err
		}
	}
	return writeSearchText(ctx, tx, []uuid.UUID{l.id})
}

// keptBesides returns what stays of a dead letter: what an operator has said of
// where it belongs, too.
func keptBesides(ctx context.Context, tx pgx.Tx, id uuid.UUID) ([]string, error) {
	var said bool
	const sql = `SELECT coalesce(original_evidence = $2, false) FROM dead_letters WHERE id = $1`
	if err := tx.QueryRow(ctx, sql, id, OriginOperator).Scan(&said); err != nil || !said {
		return keptOfDeadLetter, err
	}
	return append([]string{"original_queue", "original_exchange", "original_routing_key", "original_evidence"}, keptOfDeadLetter...), nil
}

// updateOf returns an UPDATE, up to its condition, that sets all columns of a
// row but those that are kept.
func updateOf(table string, columns []string, values []any, kept []string) (string, pgx.NamedArgs) {
	var sets []string
	args := pgx.NamedArgs{}
	for i, c := range columns {
		if !slices.Contains(kept, c) {
			sets = append(sets, c+" = @"+c)
			args[c] = values[i]
		}
	}
	return "UPDATE " + table + " SET " + strings.Join(sets, ", "), args
}

// Package audit keeps who did what, when, why and with which result. Entries
// are only ever added; where the act has a transaction, its entry is written
// in the same one. Bodies, key values and secrets do not belong in an entry.
package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Acts that the console audits; one word for each thing an operator or the
// console itself does.
const (
	ActReplay   = "replay"
	ActRelease  = "release"
	ActDiscard  = "discard"
	ActRestore  = "restore"
	ActNote     = "note"
	ActSettle   = "settle"
	ActPause    = "pause"
	ActResume   = "resume"
	ActConfirm  = "confirm"    // that a source is drained in spite of what was found out about its queue
	ActNotACopy = "not_a_copy" // the mark of a possible copy was taken off
	ActReimport = "reimport"   // out of quarantine, into the store as any other
	ActEdit     = "edit"       // what a replay sends is not, byte for byte, what died
	ActOriginal = "original"   // an operator said where a message belongs
	ActCorrect  = "correct"    // the console learned that an outcome it had shown was not the last word
)

// Results that are not the act's own. An entry with ResultIntended is followed
// by one with the true result and the same OperationID; where none follows, the
// console died in between and the result is unknown.
const (
	ResultIntended = "intended"
	ResultDone     = "done"
)

// Entry is one line of the audit.
type Entry struct {
	ID          int64     `json:"-"` // its position, in what was read; the older the smaller
	At          time.Time `json:"at"`
	Actor       string    `json:"actor"`
	From        string    `json:"from"`         // remote address, "" where the console itself acted
	Act         string    `json:"act"`          // one of the Act constants
	Object      string    `json:"object"`       // "message <id>", "key <key>", "source <name>", "replay <id>"
	OperationID string    `json:"operation_id"` // the same for all entries of one act, "" for single ones
	Reason      string    `json:"reason"`
	Result      string    `json:"result"`
}

// Execer is a pool or a transaction.
type Execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Write appends e through db: the transaction of the act itself where it has
// one, so that neither stands without the other.
func Write(ctx context.Context, db Execer, e Entry) error {
	const sql = `
		INSERT INTO audit (at, actor, remote, act, object, operation_id, reason, result)
		VALUES ($1, $2, nullif($3, ''), $4, $5, nullif($6, ''), nullif($7, ''), $8)`
	_, err := db.Exec(ctx, sql, e.At, e.Actor, e.From, e.Act, e.Object, e.OperationID, e.Reason, e.Result)
	if err != nil {
		return fmt.Errorf("audit: write %s of %s: %w", e.Act, e.Object, err)
	}
	return nil
}

// Log reads the audit.
type Log struct {
	pool *pgxpool.Pool
}

// NewLog returns the audit kept in pool's schema.
func NewLog(pool *pgxpool.Pool) *Log { return &Log{pool: pool} }

// Filter selects entries; its zero value means any.
type Filter struct {
	Object      string
	OperationID string
	// Search looks among the newest 10,000 entries for those with this text in
	// the reason, whatever its case, or about one of Objects.
	Search  string
	Objects []string
	Before  int64 // entries older than this position; 0: from the newest
	Limit   int   // at least 1
}

// Searched is how many of the newest entries Filter.Search looks at.
const Searched = 10_000

// pattern makes ILIKE look for f.Search as it is.
func (f Filter) pattern() string {
	if f.Search == "" {
		return ""
	}
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(f.Search) + "%"
}

// Page is one page of the audit, newest first.
type Page struct {
	Entries []Entry
	Next    int64 // the next Filter.Before, 0 on the last page
}

// entrySelect reads entries as scanEntry scans them.
const entrySelect = `
		SELECT id, at, actor, coalesce(remote, ''), act, object, coalesce(operation_id, ''), coalesce(reason, ''), result
		FROM audit`

func scanEntry(row pgx.CollectableRow) (Entry, error) {
	var e Entry
	err := row.Scan(&e.ID, &e.At, &e.Actor, &e.From, &e.Act, &e.Object, &e.OperationID, &e.Reason, &e.Result)
	return e, err
}

// About returns at most limit entries about an object, the oldest first: those
// after a position, 0 being before the first.
func (l *Log) About(ctx context.Context, object string, after int64, limit int) ([]Entry, error) {
	const sql = entrySelect + ` WHERE object = $1 AND id > $2 ORDER BY id LIMIT $3`
	rows, err := l.pool.Query(ctx, sql, object, after, limit)
	if err != nil {
		return nil, fmt.Errorf("audit: list of %s: %w", object, err)
	}
	entries, err := pgx.CollectRows(rows, scanEntry)
	if err != nil {
		return nil, fmt.Errorf("audit: list of %s: %w", object, err)
	}
	return entries, nil
}

// List returns the entries that f selects, newest first.
func (l *Log) List(ctx context.Context, f Filter) (Page, error) {
	const sql = entrySelect + `
		WHERE (@object = '' OR object = @object)
		  AND (@operation = '' OR operation_id = @operation)
		  AND (@pattern = '' OR id > (SELECT max(id) FROM audit) - @newest::bigint
		       AND (reason ILIKE @pattern OR object = ANY (@objects::text[])))
		  AND (@before::bigint = 0 OR id < @before)
		ORDER BY id DESC
		LIMIT @limit`
	rows, err := l.pool.Query(ctx, sql, pgx.NamedArgs{
		"object": f.Object, "operation": f.OperationID, "before": f.Before, "limit": f.Limit + 1,
		"pattern": f.pattern(), "newest": Searched, "objects": append([]string{}, f.Objects...),
	})
	if err != nil {
		return Page{}, fmt.Errorf("audit: list: %w", err)
	}
	var page Page
	var last int64
	for rows.Next() {
		e, err := scanEntry(rows)
		if err != nil {
			return Page{}, fmt.Errorf("audit: list: %w", err)
		}
		if len(page.Entries) == f.Limit {
			page.Next = last
			continue
		}
		last = e.ID
		page.Entries = append(page.Entries, e)
	}
	if err := rows.Err(); err != nil {
		return Page{}, fmt.Errorf("audit: list: %w", err)
	}
	return page, nil
}

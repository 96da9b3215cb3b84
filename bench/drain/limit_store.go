package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// rowCopy is all rows of some tables as COPY gave them, window by window.
type rowCopy struct {
	tables  []table
	into    []string   // for each table: the COPY that takes its rows
	windows [][][]byte // for each window and each table: its rows
	rows    int        // of dead letters
}

// take copies the rows out. A window holds as many dead letters as the drain's
// do on average, in the order of their ids, and all that belongs to them.
func (s store) take(ctx context.Context, tables []table) (*rowCopy, error) {
	ids, err := s.ids(ctx)
	if err != nil {
		return nil, err
	}
	n, err := s.windows(ctx)
	if err != nil {
		return nil, err
	}
	if n == 0 || len(ids) == 0 {
		return nil, fmt.Errorf("there are no rows to measure the store with")
	}
	c := &rowCopy{tables: tables, rows: len(ids), windows: make([][][]byte, n)}
	for w := range n {
		first, end := w*len(ids)/n, (w+1)*len(ids)/n
		c.windows[w] = make([][]byte, len(tables))
		for i, t := range tables {
			columns, err := s.columns(ctx, t)
			if err != nil {
				return nil, err
			}
			if w == 0 {
				c.into = append(c.into, fmt.Sprintf("COPY %s (%s) FROM STDIN (FORMAT binary)", t.name, columns))
			}
			where := fmt.Sprintf("ORDER BY ctid OFFSET %d LIMIT 1", w)
			if t.key != "" {
				where = fmt.Sprintf("WHERE %[1]s BETWEEN '%[2]s' AND '%[3]s' ORDER BY %[1]s", t.key, ids[first], ids[end-1])
			}
			var rows bytes.Buffer
			sql := fmt.Sprintf("COPY (SELECT %s FROM %s %s) TO STDOUT (FORMAT binary)", columns, t.name, where)
			if _, err := s.conn.PgConn().CopyTo(ctx, &rows, sql); err != nil {
				return nil, err
			}
			c.windows[w][i] = bytes.Clone(rows.Bytes())
		}
	}
	return c, nil
}

func (s store) ids(ctx context.Context) ([]uuid.UUID, error) {
	rows, err := s.conn.Query(ctx, "SELECT id::text FROM dead_letters ORDER BY id")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (uuid.UUID, error) {
		var id string
		if err := row.Scan(&id); err != nil {
			return uuid.Nil, err
		}
		return uuid.Parse(id)
	})
}

// columns are those that can be written, as SQL lists them.
func (s store) columns(ctx context.Context, t table) (string, error) {
	const sql = `
		SELECT attname FROM pg_attribute
		WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`
	rows, err := s.conn.Query(ctx, sql, t.name)
	if err != nil {
		return "", err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(names, ", "), err
}

// put copies the rows back, one transaction for each window, and returns how
// long that took.
func (s store) put(ctx context.Context, c *rowCopy) (time.Duration, error) {
	began := time.Now()
	for _, window := range c.windows {
		err := pgx.BeginFunc(ctx, s.conn, func(pgx.Tx) error {
			for i, rows := range window {
				if _, err := s.conn.PgConn().CopyFrom(ctx, bytes.NewReader(rows), c.into[i]); err != nil {
					return fmt.Errorf("copy into %s: %w", c.tables[i].name, err)
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	took := time.Since(began)
	n, err := s.count(ctx)
	if err == nil && n != c.rows {
		err = fmt.Errorf("the store holds %d rows after %d were copied", n, c.rows)
	}
	return took, err
}

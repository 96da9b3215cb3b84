package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"
)

// oneByOne are the statements that write each dead letter's rows.
type oneByOne struct {
	sql  []string
	rows [][][]any // for each message and table
}

// takeRows reads n dead letters and what belongs to them, as values.
func (s store) takeRows(ctx context.Context, n int) (*oneByOne, error) {
	o := &oneByOne{rows: make([][][]any, n)}
	for _, t := range drained {
		if t.key == "" {
			continue // of windows there are none where messages come one by one
		}
		columns, err := s.columns(ctx, t)
		if err != nil {
			return nil, err
		}
		places := make([]string, strings.Count(columns, ",")+1)
		for i := range places {
			places[i] = fmt.Sprintf("$%d", i+1)
		}
		o.sql = append(o.sql, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", t.name, columns, strings.Join(places, ", ")))
		rows, err := s.conn.Query(ctx, fmt.Sprintf("SELECT %s FROM %s ORDER BY %s LIMIT %d", columns, t.name, t.key, n))
		if err != nil {
			return nil, err
		}
		all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
		if err != nil {
			return nil, err
		}
		if len(all) != n {
			return nil, fmt.Errorf("table %s has %d rows of %d messages", t.name, len(all), n)
		}
		for i, values := range all {
			o.rows[i] = append(o.rows[i], values)
		}
	}
	return o, nil
}

// naive takes messages off the queue as the simplest drain does: for each its
// rows, a commit, an ack. Its inserts share a round trip, and its prefetch
// hides the broker's; it has nothing to parse, since the rows are given.
func (b *bench) naive(ctx context.Context, o *oneByOne) (time.Duration, error) {
	conn, err := amqp.Dial(b.broker.url)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return 0, err
	}
	if err := ch.Qos(500, 0, false); err != nil {
		return 0, err
	}
	began := time.Now()
	deliveries, err := ch.ConsumeWithContext(ctx, queue, "", false, false, false, false, nil)
	if err != nil {
		return 0, err
	}
	for _, rows := range o.rows {
		d, ok := <-deliveries
		if !ok {
			return 0, fmt.Errorf("the broker ended the consumer")
		}
		if err := b.insert(ctx, o.sql, rows); err != nil {
			return 0, err
		}
		if err := d.Ack(false); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// insert writes one message in a transaction of its own.
func (b *bench) insert(ctx context.Context, sql []string, rows [][]any) error {
	var batch pgx.Batch // a batch is one transaction
	for i, values := range rows {
		batch.Queue(sql[i], values...)
	}
	return b.store.conn.SendBatch(ctx, &batch).Close()
}

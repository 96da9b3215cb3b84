package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// verdict compares what the store holds of a phase with what was published.
type verdict struct {
	kills, hits     int
	published       int // and confirmed
	uncertain       int
	stored          int
	missing         int
	surplusUnmarked int
	surplusMarked   int
	marked          int // no surplus, but marked as if they could be: twins that came again
	altered         int // rows that are not as they were published, or nothing we published
}

func (v verdict) String() string {
	return fmt.Sprintf("%d published, %d stored: missing %d, surplus not marked %d, surplus marked %d, twins marked %d, altered %d",
		v.published, v.stored, v.missing, v.surplusUnmarked, v.surplusMarked, v.marked, v.altered)
}

// found are the rows of a message.
type found struct{ all, marked int }

// judge reads the whole store. It wants each message as often as it was
// confirmed. One whose publish was uncertain may be there or not.
func (w *world) judge(ctx context.Context, phase int) (verdict, error) {
	var v verdict
	rows, err := w.read(ctx, phase, &v)
	if err != nil {
		return v, err
	}
	w.publisher.mu.Lock()
	defer w.publisher.mu.Unlock()
	for number, c := range w.publisher.books {
		if number/perPhase != phase {
			continue
		}
		v.count(c, rows[number])
		delete(rows, number)
	}
	for number, r := range rows {
		progress("message %d is stored %d times and was never published", number, r.all)
		v.altered += r.all
	}
	return v, nil
}

func (v *verdict) count(c copies, r found) {
	most := c.confirmed + c.uncertain
	v.published += c.confirmed
	v.uncertain += c.uncertain
	v.stored += r.all
	v.missing += max(0, c.confirmed-r.all)
	surplus := max(0, r.all-most)
	unmarked := max(0, r.all-r.marked-most)
	v.surplusUnmarked += unmarked
	v.surplusMarked += surplus - unmarked
	v.marked += r.marked - (surplus - unmarked)
}

// read counts the rows of each message of a phase, and compares each with what
// was published, byte for byte and header for header.
func (w *world) read(ctx context.Context, phase int, v *verdict) (map[int]found, error) {
	conn, err := pgx.Connect(ctx, w.postgres.url(w.postgres.addr()))
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	const sql = `
		SELECT l.body, l.body_sha256, l.headers, l.properties, l.exchange, l.routing_key, m.source, m.possible_copy, m.quarantine IS NOT NULL
		FROM dead_letters m LEFT JOIN lives l ON l.message_id = m.id`
	result, err := conn.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	rows := map[int]found{}
	var s stored
	_, err = pgx.ForEachRow(result, []any{
		&s.body, &s.sha, &s.headers, &s.properties, &s.exchange, &s.key, &s.source, &s.copy, &s.quarantined,
	}, func() error {
		number, ok := numberOf(s.body)
		if ok && number/perPhase != phase {
			return nil
		}
		if wrong := s.compare(w.seed, number); !ok || wrong != "" {
			progress("a row of message %d is wrong: %s", number, wrong)
			v.altered++
		}
		r := rows[number]
		r.all++
		if s.copy {
			r.marked++
		}
		rows[number] = r
		return nil
	})
	return rows, err
}

// stored is one death as the store has it.
type stored struct {
	body, sha, headers, properties []byte
	exchange, key, source          *string
	copy, quarantined              bool
}

// compare says what is not as it was published.
func (s stored) compare(seed uint64, number int) string {
	want, sha := compose(seed, number), sha256.Sum256(s.body)
	q := queues[queueOf(number)]
	headers, err := rabbit.DecodeHeaders(s.headers)
	if err != nil {
		return err.Error()
	}
	properties, err := rabbit.DecodeProperties(s.properties)
	if err != nil {
		return err.Error()
	}
	delete(headers, "x-delivery-count") // a quorum queue adds it to what it delivers again
	published := want.publishing()
	switch {
	case !bytes.Equal(s.body, want.body):
		return "its body"
	case !bytes.Equal(s.sha, sha[:]):
		return "the hash of its body"
	case !reflect.DeepEqual(headers, want.headers):
		return fmt.Sprintf("its headers: %v", headers)
	case properties != rabbit.Properties{
		ContentType: published.ContentType, DeliveryMode: published.DeliveryMode, Timestamp: second.Unix(),
	}:
		return fmt.Sprintf("its properties: %+v", properties)
	case *s.exchange != "" || *s.key != q.name || *s.source != q.kind:
		return "where it comes from"
	case s.quarantined:
		return "it is in quarantine"
	}
	return ""
}

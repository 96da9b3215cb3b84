package replay_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

const (
	dramatiqDead = `{"queue_name":"q.pay.success","actor_name":"pay","args":["O1", 1.50],"kwargs":{},"options":{"retries":3,"traceback":"shop.Busy: busy"},"message_id":"m-1","message_timestamp":1}`
	dramatiqSent = `{"queue_name":"q.pay.success","actor_name":"pay","args":["O1", 1.50],"kwargs":{},"options":{},"message_id":"m-1","message_timestamp":1}`
	envelope     = `{"RoutingKey":"pay","Exchange":"ex.pay","Queue":"q.pay.success","Exception":"System.TimeoutException: no answer","Message":%s,` +
		`"DateTime":"2026-03-01T02:10:00Z","BasicProperties":{"ContentType":"application/json","Headers":{"tenant":"YWNtZQ=="},"MessageId":"m-1","UserId":"guest","Expiration":"60000"}}`
)

func TestAnEditOfTheBodyNeedsAWordAndKeepsBothVersions(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id := o.add(t, letter{key: "O1", body: []byte(dramatiqDead)})

	_, err := o.Replay(t.Context(), o.request(id))
	var refused *replay.NotAgreedError
	if !errors.As(err, &refused) || !errors.Is(err, replay.ErrNotAgreed) {
		t.Fatalf("answer is %v, want %v", err, replay.ErrNotAgreed)
	}
	if got := fmt.Sprintf("%v %s", refused.Preflight.Words(), refused.Preflight.Consent); got != "[edit_body] override" {
		t.Errorf("the refusal asks for %s", got)
	}
	if n := o.broker.published.Load(); n != 0 || o.message(t, id).State != dlq.Open || len(o.trail(t, "message "+id)) != 0 {
		t.Fatalf("%d were published, state %s: want nothing done", n, o.message(t, id).State)
	}

	r := o.request(id)
	r.Override = []replay.Verdict{"edit_body"}
	result, err := o.Replay(t.Context(), r)
	if err != nil || result.Attempt != replay.Sent {
		t.Fatalf("with the word: %+v, %v, want it sent", result, err)
	}
	got, _ := o.vhost.Get(t, work)
	if string(got.Body) != dramatiqSent {
		t.Errorf("arrived: %s", got.Body)
	}
	if sent, err := o.SentBody(t.Context(), id, result.ReplayID); err != nil || string(sent) != dramatiqSent {
		t.Errorf("kept as sent: %s, %v", sent, err)
	}
	if died, err := o.store.Body(t.Context(), id, 1); err != nil || string(died) != dramatiqDead {
		t.Errorf("kept as it died: %s, %v", died, err)
	}
	edit := fmt.Sprintf("edit sha256 %x instead of %x", sha256.Sum256([]byte(dramatiqSent)), sha256.Sum256([]byte(dramatiqDead)))
	if diff := cmp.Diff([]string{"replay intended", edit, "replay sent"}, o.trail(t, "message "+id)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestAnEnvelopeGoesBackAsTheMessageInside(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id := o.add(t, letter{
		key: "O1", body: fmt.Appendf(nil, envelope, `"{\"orderNo\":\"O1\"}"`), headers: rabbit.Table{"outer": "1"},
		properties: rabbit.Properties{Type: "EasyNetQ.SystemMessages.Error, EasyNetQ", MessageID: "envelope"},
	})
	result := o.send(t, id)
	got, _ := o.vhost.Get(t, work)
	want := map[string]any{"tenant": "acme", "dlo-message-id": id, "dlo-replay-id": fmt.Sprint(result.ReplayID), "dlo-round": "1"}
	if diff := cmp.Diff(want, map[string]any(got.Headers)); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if string(got.Body) != `{"orderNo":"O1"}` || got.MessageId != "m-1" || got.ContentType != "application/json" || got.Type != "" || got.UserId+got.Expiration != "" {
		t.Errorf("arrived: %s with %+v", got.Body, got)
	}
	if sent, err := o.SentBody(t.Context(), id, result.ReplayID); err != nil || string(sent) != `{"orderNo":"O1"}` {
		t.Errorf("kept as sent: %s, %v", sent, err)
	}
}

func TestAnEnvelopeWithoutAMessageIsNeverSent(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id := o.add(t, letter{key: "O1", body: fmt.Appendf(nil, envelope, `null`)})
	r := o.request(id)
	r.Override = replay.Overrides
	if _, err := o.Replay(t.Context(), r); !errors.Is(err, replay.ErrNoUnit) {
		t.Fatalf("answer is %v, want %v", err, replay.ErrNoUnit)
	}
	p, err := o.Preflight(t.Context(), id, replay.RouteAuto)
	if err != nil || p.Consent != replay.SentNever || len(p.Words()) != 0 {
		t.Errorf("preflight asks for %s %v, %v; want that it never goes", p.Consent, p.Words(), err)
	}
}

func TestABodyThatIsSentAsItDiedIsNotKeptTwice(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	body := []byte(strings.Repeat("plain ", 2000))
	id := o.add(t, letter{key: "O1", body: body})
	result := o.send(t, id)
	var sum, kept []byte
	const sql = `SELECT sent_sha256, sent_body FROM attempts WHERE replay_id = $1`
	if err := o.pool.QueryRow(t.Context(), sql, result.ReplayID).Scan(&sum, &kept); err != nil {
		t.Fatal(err)
	}
	if want := sha256.Sum256(body); !bytes.Equal(sum, want[:]) || kept != nil {
		t.Errorf("sha256 %x, %d bytes kept; want %x and none", sum, len(kept), want)
	}
	if sent, err := o.SentBody(t.Context(), id, result.ReplayID); err != nil || !bytes.Equal(sent, body) {
		t.Errorf("sent body of %d bytes, %v", len(sent), err)
	}
}

package replay_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/redistest"
)

func TestReplayedMessageArrivesAsItDied(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	at := time.Date(2026, 3, 1, 3, 10, 0, 0, time.UTC)
	kept := rabbit.Table{
		"t": true, "b": int8(-1), "B": uint8(200), "s": int16(-300), "u": uint16(60000), "I": int32(-70000), "i": uint32(4000000000),
		"l": int64(1) << 60, "f": float32(0.5), "d": 0.25, "D": amqp.Decimal{Scale: 2, Value: 1234}, "S": "text", "bad text": "\xff\x00",
		"A": []any{int64(1), nil, "x", amqp.Table{"deep": int8(2)}}, "T": at, "F": amqp.Table{"n": nil}, "V": nil, "x": []byte{0, 255},
		"x-exception-message": "balance not enough", "x-original-queue": work,
	}
	l := letter{key: "O1", body: []byte(`{"orderNo":"O1"}`), headers: rabbit.Table{}, properties: rabbit.Properties{
		ContentType: "application/json", ContentEncoding: "utf-8", DeliveryMode: 2, Priority: 3, CorrelationID: "c1",
		ReplyTo: "amq.rabbitmq.reply-to.g2dkAA", Expiration: "60000", MessageID: "m1", Timestamp: at.Unix(), Type: "pay", UserID: "somebody", AppID: "gw",
	}}
	maps.Copy(l.headers, kept)
	maps.Copy(l.headers, (rabbit.Table{
		"x-death":             []any{amqp.Table{"queue": work, "reason": "rejected", "count": int64(1)}},
		"x-first-death-queue": work, "x-last-death-reason": "rejected", "x-delivery-count": int64(77), "x-acquired-count": int64(9),
		"CC": []any{"other"}, "BCC": []any{"other"}, "x-delay": int64(-5000), "x-retry-count": int64(5),
		"dlo-replay-id": "1", "dlo-round": "9",
	}))
	id := o.add(t, l)
	result := o.send(t, id)

	got, ok := o.vhost.Get(t, work)
	if !ok {
		t.Fatal("nothing arrived")
	}
	want := amqp.Table{}
	maps.Copy(want, kept)
	want["dlo-message-id"], want["dlo-replay-id"], want["dlo-round"] = id, fmt.Sprint(result.ReplayID), "1"
	if diff := cmp.Diff(want, got.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	properties := []any{got.ContentType, got.ContentEncoding, got.DeliveryMode, got.Priority, got.CorrelationId, got.ReplyTo, got.Expiration, got.MessageId, got.Timestamp.UTC(), got.Type, got.UserId, got.AppId}
	wantProperties := []any{"application/json", "utf-8", uint8(2), uint8(3), "c1", "", "", "m1", at, "pay", "", "gw"}
	if diff := cmp.Diff(wantProperties, properties); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	if !bytes.Equal(got.Body, l.body) {
		t.Errorf("body is %q", got.Body)
	}
	o.expect(t, id, standing{dlq.Replayed, replay.Sent, replay.Awaited, ""})
	if diff := cmp.Diff([]string{"replay intended", "replay sent"}, o.trail(t, "message "+id)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestBodiesOfAnySizeArriveWhole(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 10 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			o := setUp(t)
			body := make([]byte, size)
			_, _ = rand.Read(body)
			o.send(t, o.add(t, letter{key: "O1", body: body}))
			got, ok := o.vhost.Get(t, work)
			if !ok || !bytes.Equal(got.Body, body) {
				t.Errorf("arrived: %v, %d bytes, want the same %d", ok, len(got.Body), size)
			}
		})
	}
}

func TestOfManyAtOnceOnePublishes(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id := o.add(t, letter{key: "O1"})
	const many = 20
	errs := make([]error, many)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			r := o.request(id)
			r.Actor = fmt.Sprintf("operator %d", i)
			_, errs[i] = o.Replay(t.Context(), r)
		})
	}
	all.Wait()
	won := 0
	for i, err := range errs {
		var lost *replay.ClaimLostError
		switch {
		case err == nil:
			won++
		case errors.As(err, &lost):
			if !strings.HasPrefix(lost.By, "operator ") || lost.Since.IsZero() {
				t.Errorf("%d lost to %q since %v", i, lost.By, lost.Since)
			}
		case !errors.Is(err, dlq.ErrBadState): // it came when the winner was done
			t.Errorf("%d: %v", i, err)
		}
	}
	if won != 1 || o.broker.published.Load() != 1 || o.depth(t) != 1 {
		t.Errorf("%d won, %d published, %d in the queue; want 1 of each", won, o.broker.published.Load(), o.depth(t))
	}
	if replays, _, err := o.List(t.Context(), 0, 100); err != nil || len(replays) != 1 {
		t.Errorf("%d replays, %v, want 1", len(replays), err)
	}
}

func TestWhatTheBrokerSaysBecomesTheAttempt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		want standing
	}{
		{"returned", rabbit.ErrReturned, standing{dlq.Open, replay.Returned, "", ""}},
		{"refused", rabbit.ErrRefused, standing{dlq.Open, replay.Refused, "", ""}},
		{"blocked", rabbit.ErrBlocked, standing{dlq.Open, replay.Blocked, "", ""}},
		{"unavailable", rabbit.ErrUnavailable, standing{dlq.Open, replay.Blocked, "", ""}},
		{"unknown", rabbit.ErrUnknown, standing{dlq.Replaying, replay.AttemptUnknown, "", ""}},
		{"something new", errors.New("the moon"), standing{dlq.Replaying, replay.AttemptUnknown, "", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := setUp(t)
			id := o.add(t, letter{key: "O1"})
			o.broker.instead = func(rabbit.Message) error { return fmt.Errorf("told: %w", tt.err) }
			result, err := o.Replay(t.Context(), o.request(id))
			if err != nil || result.Attempt != tt.want.Attempt || !strings.Contains(result.Detail, "told") {
				t.Fatalf("got %+v, %v", result, err)
			}
			o.expect(t, id, tt.want)
			trail := []string{"replay intended", "replay " + string(tt.want.Attempt)}
			if diff := cmp.Diff(trail, o.trail(t, "message "+id)); diff != "" {
				t.Errorf("audit (-want +got):\n%s", diff)
			}
			labels := map[string]string{"source": "pay-success", "result": string(tt.want.Attempt)}
			if n := o.counter(t, "dlo_replayed_messages_total", labels); n != 1 {
				t.Errorf("counted %v times, want once", n)
			}
			o.broker.instead = nil
			_, err = o.Replay(t.Context(), o.request(id))
			if tt.want.State == dlq.Open && err != nil {
				t.Errorf("a second try: %v", err)
			}
			if tt.want.State == dlq.Replaying && !errors.Is(err, dlq.ErrBadState) {
				t.Errorf("an unknown attempt was followed by another: %v", err)
			}
		})
	}
}

func TestQueueThatIsGoneReturnsTheMessage(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id := o.add(t, letter{key: "O1", queue: "q.gone"})
	result, err := o.Replay(t.Context(), o.request(id))
	if err != nil || result.Attempt != replay.Returned {
		t.Errorf("got %+v, %v, want returned", result, err)
	}
	o.expect(t, id, standing{dlq.Open, replay.Returned, "", ""})
}

func TestReplayExchangeKeepsTheRoutingKey(t *testing.T) {
	t.Parallel()
	o := setUp(t, route(replay.RouteReplayExchange))
	id := o.add(t, letter{key: "O1"})
	o.vhost.Queue(t, "q.other", nil)
	o.vhost.Bind(t, "q.other", key, exchange)
	o.send(t, id)
	got, ok := o.vhost.Get(t, work)
	if !ok || got.RoutingKey != key || got.Exchange != "dlo.replay."+work {
		t.Errorf("arrived %v by %q with %q", ok, got.Exchange, got.RoutingKey)
	}
	if n := o.vhost.Depth(t, "q.other"); n != 0 {
		t.Errorf("another queue got %d copies", n)
	}
	last := o.last(t, id)
	if last.Route != replay.RouteReplayExchange || last.ToQueue != work || last.ToRoutingKey != key {
		t.Errorf("the attempt says %+v", last)
	}
}

func TestWhatCannotBeReplayed(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	r := o.request(o.add(t, letter{key: "O1"}))
	with := func(change func(*replay.Request)) replay.Request {
		changed := r
		change(&changed)
		return changed
	}
	tests := []struct {
		name    string
		request replay.Request
		want    error
	}{
		{"no such message", o.request("00000000-0000-0000-0000-000000000001"), dlq.ErrNotFound},
		{"not an id", o.request("1; DROP TABLE"), dlq.ErrNotFound},
		{"discarded", o.request(o.add(t, letter{key: "O2", state: dlq.Discarded})), dlq.ErrBadState},
		{"replayed, outcome awaited", o.request(o.add(t, letter{key: "O3", state: dlq.Replayed})), dlq.ErrBadState},
		{"resolved", o.request(o.add(t, letter{key: "O4", state: dlq.Resolved})), dlq.ErrBadState},
		{"quarantined", o.request(o.add(t, letter{key: "O5", quarantine: "headers too large"})), dlq.ErrBadState},
		{"came from nowhere", o.request(o.add(t, letter{key: "O6", queue: "-"})), replay.ErrNoDestination},
		{"no such route", with(func(r *replay.Request) { r.Route = "pigeon" }), replay.ErrBadRoute},
		{"token of nothing", with(func(r *replay.Request) { r.ReleaseKeys = []replay.Release{{Key: "idempotent:msg:O1", Seen: "x"}} }), keys.ErrBadSeen},
		{"another message's key", with(func(r *replay.Request) { r.ReleaseKeys = []replay.Release{o.seen(t, "idempotent:msg:O2")} }), replay.ErrNotItsKey},
	}
	for _, tt := range tests {
		if _, err := o.Replay(t.Context(), tt.request); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
	if n := o.broker.published.Load(); n != 0 {
		t.Errorf("%d were published", n)
	}
	if list, _, err := o.List(t.Context(), 0, 10); err != nil || len(list) != 0 {
		t.Errorf("%d replays were noted, %v", len(list), err)
	}
}

// Each verdict against what the request allows.
func TestOverrideMatrix(t *testing.T) {
	t.Parallel()
	insert := func(status, flow string) func(*testing.T, *office) {
		return func(t *testing.T, o *office) {
			if status != "" {
				o.exec(t, o.business, "INSERT INTO t_order VALUES ('O1', $1)", status)
			}
			if flow != "" {
				o.exec(t, o.business, "INSERT INTO t_account_flow VALUES ('O1', $1)", flow)
			}
		}
	}
	value := func(v string, age time.Duration) func(*testing.T, *office) {
		return func(t *testing.T, o *office) { o.hold(t, "idempotent:msg:O1", v, age) }
	}
	tests := []struct {
		name    string
		verdict replay.Verdict
		changes []change
		key     string
		given   func(*testing.T, *office)
		sent    bool // with the override that names it
	}{
		{"will run", replay.WillRun, nil, "O1", nil, true},
		{"no key", replay.NoKey, nil, "", nil, true},
		{"already effected", replay.AlreadyEffected, []change{withProbes}, "O1", insert("PAID", "PAY_DEDUCT"), true},
		{"inconsistent", replay.Inconsistent, []change{withProbes}, "O1", insert("INIT", "PAY_DEDUCT"), false},
		{"refused by state", replay.RefusedByState, []change{withProbes}, "O1", insert("REFUNDED", ""), true},
		{"no such order", replay.RefusedByState, []change{withProbes}, "O1", nil, true},
		{"in progress", replay.InProgress, nil, "O1", value("PROCESSING", time.Minute), true},
		{"will skip", replay.WillSkip, nil, "O1", value("SUCCESS", time.Minute), true},
		{"stale key, not released", replay.StaleKey, nil, "O1", value("PROCESSING", old), false},
		{"unproven, not released", replay.Unproven, []change{withFlag}, "O1", func(t *testing.T, o *office) { o.hold(t, "mq:consumed:O1", "1", old) }, false},
		{"unreadable", replay.Unknown, nil, "O1", value("HELLO", old), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := setUp(t, tt.changes...)
			id := o.add(t, letter{key: tt.key})
			if tt.given != nil {
				tt.given(t, o)
			}
			p, err := o.Preflight(t.Context(), id, replay.RouteAuto)
			if err != nil || p.Verdict != tt.verdict || p.Consent != replay.ConsentFor(tt.verdict) {
				t.Fatalf("preflight: %+v, %v, want %s", p, err, tt.verdict)
			}
			r := o.request(id)
			if p.Consent != replay.SentFreely {
				for _, r.Override = range [][]replay.Verdict{nil, {"invented"}, {replay.WillRun}} {
					_, err = o.Replay(t.Context(), r)
					var notSent *replay.NotSentError
					if !errors.As(err, &notSent) || notSent.Preflight.Verdict != tt.verdict {
						t.Fatalf("override %v: %v, want ErrNotSent with the preflight", r.Override, err)
					}
				}
			}
			r.Override = []replay.Verdict{tt.verdict}
			_, err = o.Replay(t.Context(), r)
			if sent := err == nil; sent != tt.sent {
				t.Errorf("override: %v, want it sent: %v", err, tt.sent)
			}
			if want := map[bool]int{true: 1}[tt.sent]; o.depth(t) != want {
				t.Errorf("%d in the queue, want %d", o.depth(t), want)
			}
		})
	}
}

func TestResolvedMessageGoesOnlyByItsName(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id := o.add(t, letter{key: "O1", state: dlq.Resolved})
	r := o.request(id)
	r.Override = []replay.Verdict{replay.WillSkip}
	if p, err := o.Preflight(t.Context(), id, ""); err != nil || p.Verdict != replay.WillRun || p.Consent != replay.SentOverride {
		t.Errorf("preflight: %+v, %v, want will_run by override", p, err)
	}
	if _, err := o.Replay(t.Context(), r); !errors.Is(err, replay.ErrNotSent) {
		t.Errorf("another verdict's name: %v, want ErrNotSent", err)
	}
	o.expect(t, id, standing{State: dlq.Resolved})
	r.Override = []replay.Verdict{replay.WillRun}
	o.broker.instead = func(rabbit.Message) error { return rabbit.ErrRefused }
	if _, err := o.Replay(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	o.expect(t, id, standing{dlq.Resolved, replay.Refused, "", ""})
	o.broker.instead = nil
	if _, err := o.Replay(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	o.expect(t, id, standing{dlq.Replayed, replay.Sent, replay.Awaited, ""})
}

func TestRedisThatIsDownSendsNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Private(t)
	o := setUp(t, func(o *replay.Options) { o.Keys = keys.NewRegistry(server.Client, spaces) })
	id := o.add(t, letter{key: "O1"})
	server.Kill(t)
	p, err := o.Preflight(t.Context(), id, replay.RouteAuto)
	if err != nil || p.Verdict != replay.Unknown || p.Why != replay.WhyRedis {
		t.Errorf("preflight: %s (%s), %v, want unknown", p.Verdict, p.Why, err)
	}
	r := o.request(id)
	r.Override = replay.Verdicts
	_, err = o.Replay(t.Context(), r)
	if !errors.Is(err, replay.ErrNotSent) || !errors.Is(err, keys.ErrUnavailable) {
		t.Errorf("got %v, want ErrNotSent by keys.ErrUnavailable", err)
	}
	o.expect(t, id, standing{State: dlq.Open})
	if o.broker.published.Load() != 0 {
		t.Error("it was published")
	}
	server.Start(t)
	o.send(t, id)
}

// What changed between the preflight and the claim must be seen.
func TestGuardsAreReadAgainAfterTheClaim(t *testing.T) {
	t.Parallel()
	var o *office
	looks := 0
	o = setUp(t, withProbes, clock(func() time.Time {
		if looks++; looks == 2 { // the claim's own: the preflight before it is done
			_, err := o.business.Exec(t.Context(), "UPDATE t_order SET status = 'REFUNDED'")
			if err != nil {
				t.Error(err)
			}
		}
		return time.Now()
	}))
	o.exec(t, o.business, "INSERT INTO t_order VALUES ('O1', 'INIT')")
	id := o.add(t, letter{key: "O1"})
	_, err := o.Replay(t.Context(), o.request(id))
	var notSent *replay.NotSentError
	if !errors.As(err, &notSent) || notSent.Preflight.Verdict != replay.RefusedByState {
		t.Fatalf("got %v, want ErrNotSent with refused_by_state", err)
	}
	o.expect(t, id, standing{dlq.Open, replay.Skipped, "", ""})
	if o.depth(t) != 0 {
		t.Error("it was sent")
	}
	if diff := cmp.Diff([]string{"replay intended", "replay skipped"}, o.trail(t, "message "+id)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

package replay_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// marked stores a message and a twin of it, and marks the first.
func (o *office) marked(t *testing.T, l letter) (copied, twin string) {
	t.Helper()
	copied, twin = o.add(t, l), o.add(t, l)
	o.exec(t, o.pool, "UPDATE dead_letters SET possible_copy = true WHERE id = $1", copied)
	return copied, twin
}

func TestAPossibleCopyIsNotSentUntilTheRequestSaysSo(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id, twin := o.marked(t, letter{key: "P1", body: []byte("pay once")})

	_, err := o.Replay(t.Context(), o.request(id))
	var refused *replay.PossibleCopyError
	if !errors.As(err, &refused) || !errors.Is(err, replay.ErrPossibleCopy) {
		t.Fatalf("answer is %v, want %v", err, replay.ErrPossibleCopy)
	}
	if likes := refused.Preflight.Lookalikes.Messages; len(likes) != 1 || likes[0].ID != twin {
		t.Errorf("the refusal names %v, want the twin %s", likes, twin)
	}
	wrong := o.request(id)
	wrong.Override = []replay.Verdict{replay.WillRun, replay.NoKey}
	if _, err := o.Replay(t.Context(), wrong); !errors.Is(err, replay.ErrPossibleCopy) {
		t.Errorf("with other words: %v, want %v", err, replay.ErrPossibleCopy)
	}
	if n := o.broker.published.Load(); n != 0 || o.message(t, id).State != dlq.Open || len(o.trail(t, "message "+id)) != 0 {
		t.Fatalf("%d were published, state %s, audit %v: want nothing done", n, o.message(t, id).State, o.trail(t, "message "+id))
	}

	o.send(t, twin) // it is not marked: nothing asks for more

	r := o.request(id)
	r.Override = []replay.Verdict{replay.OverrideCopy}
	result, err := o.Replay(t.Context(), r)
	if err != nil || result.Attempt != replay.Sent {
		t.Fatalf("with the override: %+v, %v, want it sent", result, err)
	}
	if got := o.last(t, id).Override; fmt.Sprint(got) != "[possible_copy]" {
		t.Errorf("the attempt keeps the override %v", got)
	}
}

// A word for the one doubt is none for the other.
func TestAPossibleCopyThatTheGuardsHoldBackNeedsBothWords(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id, _ := o.marked(t, letter{body: []byte("pay once")}) // no business key
	p, err := o.Preflight(t.Context(), id, "")
	if err != nil || fmt.Sprint(p.Words()) != "[no_key possible_copy]" || p.Consent != replay.SentOverride {
		t.Errorf("the preflight asks for %v (%s), %v", p.Words(), p.Consent, err)
	}
	for _, c := range []struct {
		words []replay.Verdict
		want  error
	}{
		{nil, replay.ErrNotSent},
		{[]replay.Verdict{replay.OverrideCopy}, replay.ErrNotSent},
		{[]replay.Verdict{replay.NoKey}, replay.ErrPossibleCopy},
		{p.Words(), nil},
	} {
		r := o.request(id)
		r.Override = c.words
		if _, err := o.Replay(t.Context(), r); !errors.Is(err, c.want) {
			t.Errorf("with %v: %v, want %v", c.words, err, c.want)
		}
	}
	if n := o.broker.published.Load(); n != 1 {
		t.Errorf("%d were published, want one", n)
	}
}

// The mark of a copy says nothing about whether a resolved message goes again.
func TestTheWordForACopyDoesNotOpenAResolvedMessage(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id, _ := o.marked(t, letter{key: "P1", state: dlq.Resolved})
	p, err := o.Preflight(t.Context(), id, "")
	if err != nil || fmt.Sprint(p.Words()) != "[will_run possible_copy]" {
		t.Errorf("the preflight asks for %v, %v", p.Words(), err)
	}
	r := o.request(id)
	r.Override = []replay.Verdict{replay.OverrideCopy}
	if _, err := o.Replay(t.Context(), r); !errors.Is(err, replay.ErrNotSent) {
		t.Errorf("with the copy's word alone: %v, want %v", err, replay.ErrNotSent)
	}
	r.Override = p.Words()
	if _, err := o.Replay(t.Context(), r); err != nil {
		t.Errorf("with both words: %v", err)
	}
}

func TestPreflightWarnsOfACopyOnBothSides(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id, twin := o.marked(t, letter{key: "P1"})
	for _, c := range []struct {
		id, other string
		marked    bool
		consent   replay.Consent
	}{{id, twin, true, replay.SentOverride}, {twin, id, false, replay.SentFreely}} {
		p, err := o.Preflight(t.Context(), c.id, "")
		if err != nil {
			t.Fatal(err)
		}
		likes := p.Lookalikes.Messages
		if p.PossibleCopy != c.marked || p.Consent != c.consent || len(likes) != 1 || likes[0].ID != c.other {
			t.Errorf("marked %v, consent %s, look-alikes %v; want %v, %s, the other one", p.PossibleCopy, p.Consent, likes, c.marked, c.consent)
		}
	}
	act := dlq.Act{Actor: "ada", Reason: "two orders", At: time.Now()}
	if err := o.store.NotACopy(t.Context(), id, act); err != nil {
		t.Fatal(err)
	}
	o.send(t, id)
}

func TestAPreflightOfManyCountsPossibleCopiesApart(t *testing.T) {
	t.Parallel()
	o := setUp(t)
	id, twin := o.marked(t, letter{key: "P1"})
	counts, err := o.PreflightMany(t.Context(), []string{id, twin})
	if err != nil || counts.Total != 2 || counts.PossibleCopies != 1 || len(counts.Verdicts) != 1 || counts.Verdicts[replay.WillRun] != 1 {
		t.Errorf("counts are %+v, %v", counts, err)
	}
}

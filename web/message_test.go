package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

func TestAMessageSaysWhyItDiedAndWhatAReplayWillMeet(t *testing.T) {
	t.Parallel()
	doc := page(t, newOffice(t).get("/messages/"+sample.StaleID), http.StatusOK)
	for id, want := range map[string]string{
		"name": "P20260928001", "state": "open", "where": "pay-success, round 1", "failure-type": "BankTimeout", "failure-message": "Harbour Bank gave no answer in 10 s",
		"retry-count": "5 retries, by its own header", "stack": "HarbourClient.java:118", "verdict": "Stale key",
		"journey": "ex.pay rejected, 5 times q.pay.success", "notes": "Harbour Bank confirms", "message-audit": "wei wrote a note on",
		"properties": "message_id m-7c1f0be2-001", "primary-act": "Release key, then replay",
	} {
		wantText(t, doc, testid(id), want)
	}
	guards := doc.Find(testid("guard"))
	if guards.Length() != 3 || !guards.Eq(0).HasClass("stops") || guards.Eq(1).HasClass("stops") {
		t.Errorf("%d guards, the first should be the one that stops", guards.Length())
	}
	wantText(t, doc, testid("guards"), "1 Idempotency key holds it back, for 22 min")
	wantText(t, doc, testid("guards"), "2 Order state lets it through Found INIT")
	wantText(t, doc, testid("preflight"), "Release, then replay passes all guards")
	wantText(t, doc, testid("headers"), "x-retry-count int32 5 taken off")
}

func TestTheActsOfAMessageFollowItsStateAndVerdict(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for id, want := range map[string]string{
		sample.StaleID:       "primary /release",
		sample.WillRunID:     "primary /replay",
		sample.NoKeyID:       "second /replay", // the next step asks for an override
		sample.RefusedID:     "second /replay",
		sample.DoneID:        "first /messages/discard?id=" + sample.DoneID + ", second /replay",
		sample.ResolvedID:    "second /replay",
		sample.ReplayedID:    "",
		sample.DiscardedID:   "second /messages/restore?id=" + sample.DiscardedID,
		sample.QuarantinedID: "second /messages/reimport?id=" + sample.QuarantinedID,
		sample.UnknownID:     "primary /settle",
		sample.UnreadID:      "second /replay",
	} {
		doc := page(t, o.get("/messages/"+id), http.StatusOK)
		var got []string
		for _, act := range []string{"primary", "first", "second"} {
			if a := doc.Find(testid(act + "-act")); a.Length() > 0 {
				got = append(got, act+" "+strings.TrimPrefix(a.AttrOr("href", ""), "/messages/"+id))
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s offers %q, want %q", id, got, want)
		}
	}
}

func TestWhatMustNotBeMissedStandsAboveTheMessage(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for id, want := range map[string]string{
		sample.UnknownID:     "may or may not have been sent",
		sample.QuarantinedID: "the header frame could not be decoded",
		sample.CopyID:        "may have delivered this message twice",
	} {
		wantText(t, page(t, o.get("/messages/"+id), http.StatusOK), testid("notice"), want)
	}
	wantNone(t, page(t, o.get("/messages/"+sample.StaleID), http.StatusOK), testid("notice"))
}

func TestAVerdictThatCannotBeReadDoesNotHideTheMessage(t *testing.T) {
	t.Parallel()
	doc := page(t, newOffice(t).get("/messages/"+sample.UnreadID), http.StatusOK)
	wantText(t, doc, testid("verdict"), "Unknown Redis does not answer, so no verdict is known.")
	wantText(t, doc, testid("failure-type"), "BankTimeout")
}

func TestABodyIsShownWithoutLoss(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := "/messages/" + sample.StaleID
	tree := page(t, o.get(path), http.StatusOK)
	wantText(t, tree, testid("body-tree"), `bankSerial: 9007199254740993117 amount: 1280.00`)
	wantText(t, tree, testid("body"), "362 bytes application/json sha-256")
	wantText(t, page(t, o.get(path+"?view=pretty"), 200), testid("body-pretty"), `"bankSerial": 9007199254740993117, "amount": 1280.00,`)
	raw := page(t, o.get(path+"?view=raw"), 200).Find(testid("body-raw")).Text()
	if !strings.HasPrefix(raw, `{"orderNo":"P20260928001","bankSerial":9007199254740993117,`) {
		t.Errorf("raw is %q", raw)
	}
	wantText(t, page(t, o.get(path+"?view=hex"), 200), testid("body-hex"), "00000000 7b 22 6f 72 64 65 72 4e 6f 22")
	binary := page(t, o.get("/messages/"+sample.BinaryID+"?view=tree"), 200)
	wantText(t, binary, testid("body-hex"), "00 01 ff 20 62 69 6e 61 72 79")
	wantNone(t, binary, testid("body-raw"))
}

func TestALargeBodyIsCutForDisplayOnly(t *testing.T) {
	t.Parallel()
	f := newOffice(t).frame(newContext(t), "", "")
	m := dlq.Message{ID: "m", BodySize: 300_000, ContentType: "text/plain"}
	var p bodyPanel
	body := []byte(strings.Repeat("中", defaultBodyInline/3+1))[:defaultBodyInline]
	p.choose(f, m, body, true, "")
	if p.View != "raw" || p.Cut == "" || !strings.HasSuffix(p.Text, "中") {
		t.Errorf("view %s, cut %q, ends in %q", p.View, p.Cut, p.Text[len(p.Text)-6:])
	}
	p = bodyPanel{}
	p.choose(f, m, body, true, "hex")
	if want := maxShownHex / 16; strings.Count(p.Text, "\n") != want {
		t.Errorf("%d lines of hex, want %d", strings.Count(p.Text, "\n"), want)
	}
}

func TestAReplayIsConfirmedWithWhatWasSeen(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := "/messages/" + sample.StaleID + "/release"
	doc := page(t, o.get(path), http.StatusOK)
	key, seen := doc.Find(`input[name="key"]`).AttrOr("value", ""), doc.Find(`input[name="seen"]`).AttrOr("value", "")
	if key != sample.KeyOf("P20260928001") || seen != "seen-P20260928001" {
		t.Fatalf("the form has key %q seen as %q", key, seen)
	}
	wantText(t, doc, testid("confirm-button"), "Release the key, then replay P20260928001")
	wantNone(t, doc, testid("override"))
	page(t, o.form(path, "key", key, "seen", seen), http.StatusUnprocessableEntity)
	page(t, o.form(path, "key", key, "reason", "r"), http.StatusBadRequest)
	w := o.form(path, "key", key, "seen", seen, "reason", "consumer killed")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/replays/82" {
		t.Fatalf("answer is %d to %q", w.Code, w.Header().Get("Location"))
	}
	if len(o.replays.Requests) != 1 {
		t.Fatalf("%d replays were asked for, want one", len(o.replays.Requests))
	}
	r := o.replays.Requests[0]
	if r.MessageID != sample.StaleID || len(r.ReleaseKeys) != 1 || r.ReleaseKeys[0] != (replay.Release{Key: key, Seen: seen}) || r.Reason != "consumer killed" {
		t.Errorf("asked for %+v", r)
	}
}

func TestWhatTheVerdictAsksForIsAskedBeforeAReplay(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	step := func(id string) string { return "/messages/" + id + "/replay" }
	doc := page(t, o.get(step(sample.WillRunID)), http.StatusOK)
	wantNone(t, doc, testid("override"))
	wantNone(t, doc, testid("stop"))

	doc = page(t, o.get(step(sample.RefusedID)), http.StatusOK)
	if got := doc.Find(testid("override")).AttrOr("value", ""); got != "refused_by_state" {
		t.Errorf("the tick names %q", got)
	}
	doc = page(t, o.get(step(sample.ResolvedID)), http.StatusOK)
	wantText(t, doc, "label[for=override]", "resolved before")

	doc = page(t, o.get(step(sample.StaleID)), http.StatusOK)
	wantNone(t, doc, testid("confirm"))
	if got := doc.Find(testid("instead")).AttrOr("href", ""); got != "/messages/"+sample.StaleID+"/release" {
		t.Errorf("instead it offers %q", got)
	}
	for _, id := range []string{sample.ReplayedID, sample.DiscardedID, sample.UnknownID} {
		doc = page(t, o.get(step(id)), http.StatusOK)
		wantNone(t, doc, testid("confirm"))
		wantText(t, doc, testid("stop"), "only an open message can be replayed")
	}
	if w := o.form(step(sample.RefusedID), "override", "refused_by_state", "reason", "r"); w.Code != http.StatusSeeOther {
		t.Errorf("answer is %d: %s", w.Code, w.Body)
	}
	if got := o.replays.Requests[0].Override; len(got) != 1 || got[0] != replay.RefusedByState {
		t.Errorf("override is %v", got)
	}
}

func TestAnUnknownAttemptIsSettledByAnAnswerWithAReason(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := "/messages/" + sample.UnknownID + "/settle"
	page(t, o.get(path), http.StatusOK)
	page(t, o.form(path, "reason", "r"), http.StatusUnprocessableEntity)
	page(t, o.form(path, "as", "sent"), http.StatusUnprocessableEntity)
	if w := o.form(path, "as", "sent", "reason", "seen in the queue"); w.Code != http.StatusSeeOther {
		t.Fatalf("answer is %d", w.Code)
	}
	if len(o.replays.Settled) != 1 || !o.replays.Settled[0] {
		t.Errorf("settlements are %v", o.replays.Settled)
	}
}

func TestANoteIsWritten(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	w := o.form("/messages/"+sample.WillRunID+"/notes", "text", sample.Hostile)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/messages/"+sample.WillRunID+"#notes" {
		t.Fatalf("answer is %d to %q", w.Code, w.Header().Get("Location"))
	}
	wantText(t, page(t, o.get("/messages/"+sample.WillRunID), http.StatusOK), testid("notes"), sample.Hostile+" anna")
}

// TestHostileTextIsTextEverywhere finds the hostile text, whole and as text, in
// each part of the page that shows something of the message's producer.
func TestHostileTextIsTextEverywhere(t *testing.T) {
	t.Parallel()
	doc := page(t, newOffice(t).get("/messages/"+sample.HostileID), http.StatusOK)
	for _, id := range []string{"name", "failure-type", "failure-message", "stack", "journey", "guards", "body", "headers", "notes", "attempts", "lives"} {
		wantText(t, doc, testid(id), sample.Hostile)
	}
	doc = page(t, newOffice(t).get("/replays/79"), http.StatusOK)
	wantText(t, doc, testid("item"), sample.Hostile)
	wantText(t, doc, ".head", sample.Hostile)
}

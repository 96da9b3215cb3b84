package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/auth"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

func TestAPossibleCopyIsShownAsSuchInTheListAndOnItsPage(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get("/messages"), http.StatusOK)
	if marks := doc.Find(testid("possible-copy")); marks.Length() != 1 || marks.Closest("tr").AttrOr("data-id", "") != sample.CopyID {
		t.Errorf("%d rows are marked, want the one", marks.Length())
	}
	doc = page(t, o.get("/messages/"+sample.CopyID), http.StatusOK)
	wantText(t, doc, testid("copy-warning"), "may be a copy of another message")
	likes := doc.Find(testid("copies") + " a.mono")
	if likes.Length() != 1 || likes.AttrOr("href", "") != "/messages/"+sample.WillRunID {
		t.Errorf("it names %q, want the message with the same body", likes.AttrOr("href", ""))
	}
	wantNone(t, doc, testid("primary-act")) // it is not sent at a click
	if got := doc.Find(testid("not-a-copy")).AttrOr("href", ""); got != "/messages/"+sample.CopyID+"/not_a_copy" {
		t.Errorf("it offers %q", got)
	}

	twin := page(t, o.get("/messages/"+sample.WillRunID), http.StatusOK)
	wantText(t, twin, testid("copies"), "May have been copied")
	wantNone(t, twin, testid("copy-warning"))
	wantNone(t, twin, testid("not-a-copy"))
	wantNone(t, page(t, o.get("/messages/"+sample.RefusedID), http.StatusOK), testid("copies"))
	reader := page(t, newOffice(t, as(auth.Viewer)).get("/messages/"+sample.CopyID), http.StatusOK)
	wantNone(t, reader, testid("not-a-copy")+", "+testid("discard-copy"))
}

func TestAPossibleCopyIsSentOnlyWithATickOfItsOwn(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := "/messages/" + sample.CopyID + "/replay"
	doc := page(t, o.get(path), http.StatusOK)
	wantNone(t, doc, testid("override")) // the guards let it through
	tick := doc.Find(testid("override-copy"))
	if _, required := tick.Attr("required"); !required || tick.AttrOr("name", "") != "override" || tick.AttrOr("value", "") != "possible_copy" {
		t.Errorf("the tick is %v", tick.Nodes)
	}
	wantText(t, doc, testid("copy-consent"), "may have delivered this message twice")
	wantText(t, doc, testid("copy-consent"), sample.WillRunID)
	if w := o.form(path, "override", "possible_copy", "reason", "two orders"); w.Code != http.StatusSeeOther {
		t.Fatalf("answer is %d: %s", w.Code, w.Body)
	}
	if got := o.replays.Requests[0].Override; len(got) != 1 || got[0] != replay.OverrideCopy {
		t.Errorf("override is %v", got)
	}
}

func TestARefusedCopyTellsProgramsAndPeopleWhatToDo(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	pre := replay.Preflight{
		MessageID: sample.CopyID, Verdict: replay.WillRun, Consent: replay.SentOverride, PossibleCopy: true,
		Lookalikes: dlq.Lookalikes{Messages: []dlq.Message{{ID: sample.WillRunID, State: dlq.Open}}},
	}
	o.replays.Err = &replay.PossibleCopyError{Preflight: pre}
	path := v1 + "/messages/" + sample.CopyID + "/replay"
	w := o.json(http.MethodPost, path, `{"reason":"r"}`)
	wantCode(t, w, http.StatusConflict, "possible_copy")
	asDescribed(t, http.MethodPost, path, w)
	for _, want := range []string{`delivered this message twice`, `\"override\":[\"possible_copy\"]`, `"lookalikes":[{"id":"` + sample.WillRunID + `"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the answer lacks %s: %s", want, w.Body)
		}
	}
	doc := page(t, o.form("/messages/"+sample.CopyID+"/replay", "reason", "r"), http.StatusConflict)
	wantText(t, doc, testid("error"), "Nothing was sent")
}

func TestTheMarkOfACopyIsTakenOffWithAReason(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := "/messages/" + sample.CopyID + "/not_a_copy"
	page(t, o.get(path), http.StatusOK)
	page(t, o.form(path), http.StatusUnprocessableEntity)
	if w := o.form(path, "reason", "two orders"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/messages/"+sample.CopyID {
		t.Fatalf("answer is %d to %q", w.Code, w.Header().Get("Location"))
	}
	if a := o.store.Acts; len(a) != 1 || a[0].Reason != "two orders" || a[0].Actor != "anna" {
		t.Errorf("acts are %v", a)
	}
	page(t, o.get(path), http.StatusConflict)

	api := newOffice(t)
	api.call(t, http.MethodPost, v1+path, `{"reason":""}`, http.StatusUnprocessableEntity)
	if got := api.call(t, http.MethodPost, v1+path, `{"reason":"two orders"}`, http.StatusOK); got["possible_copy"] != false {
		t.Errorf("the message is still marked: %v", got)
	}
	again := api.json(http.MethodPost, v1+path, `{"reason":"two orders"}`)
	wantCode(t, again, http.StatusConflict, "not_marked")
}

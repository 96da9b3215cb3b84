package web

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/auth"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

const quarantinedPath = "/messages/reimport?id=" + sample.QuarantinedID

func TestAQuarantinedMessageShowsWhyAndItsRawHeaders(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get("/messages?mark=quarantine"), http.StatusOK)
	if rows := doc.Find(testid("message")); rows.Length() != 1 || rows.AttrOr("data-id", "") != sample.QuarantinedID {
		t.Fatalf("%d rows are listed as quarantined, want the one", rows.Length())
	}
	if got := doc.Find("select[name=mark] option[selected]").AttrOr("value", ""); got != "quarantine" {
		t.Errorf("the filter says %q", got)
	}
	if got := doc.Find(testid("reimport-selected")).AttrOr("formaction", ""); got != "/messages/reimport" {
		t.Errorf("the selection's act leads to %q", got)
	}
	wantNone(t, page(t, o.get("/messages?state=resolved"), http.StatusOK), testid("reimport-selected"))

	doc = page(t, o.get("/messages/"+sample.QuarantinedID), http.StatusOK)
	wantText(t, doc, testid("quarantine-why"), "the header frame could not be decoded")
	wantText(t, doc, testid("raw-headers"), "00000000 00 00 00 10 01 61 46")
	wantText(t, doc, testid("headers"), "They cannot be read")
	if got := doc.Find(testid("reimport")).AttrOr("href", ""); got != quarantinedPath {
		t.Errorf("it offers %q", got)
	}
	if got := doc.Find(testid("download")).AttrOr("href", ""); got != "/messages/"+sample.QuarantinedID+"/body" {
		t.Errorf("its body is at %q", got)
	}
	reader := page(t, newOffice(t, as(auth.Viewer)).get("/messages/"+sample.QuarantinedID), http.StatusOK)
	wantNone(t, reader, testid("reimport"))
	wantNone(t, page(t, o.get("/messages/"+sample.StaleID), http.StatusOK), testid("quarantine"))
}

func TestAReimportIsConfirmedAndSaysWhyItFails(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get(quarantinedPath+"&id="+sample.StaleID), http.StatusOK)
	wantText(t, doc, testid("confirm"), "Import 1 message again")
	if ids := doc.Find(`input[name="id"]`); ids.Length() != 1 || ids.AttrOr("value", "") != sample.QuarantinedID {
		t.Errorf("%d ids are in the form, want the quarantined one's", ids.Length())
	}
	page(t, o.form("/messages/reimport", "id", sample.QuarantinedID), http.StatusUnprocessableEntity)

	o.store.Refuses = "Postgres refused it: no such thing"
	doc = page(t, o.form("/messages/reimport", "id", sample.QuarantinedID, "reason", "r"), http.StatusConflict)
	wantText(t, doc, testid("results"), "it stays in quarantine: Postgres refused it: no such thing")

	o.store.Refuses = ""
	w := o.form("/messages/reimport", "id", sample.QuarantinedID, "reason", "fixed")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/messages/"+sample.QuarantinedID {
		t.Fatalf("answer is %d to %q", w.Code, w.Header().Get("Location"))
	}
	wantNone(t, page(t, o.get("/messages/"+sample.QuarantinedID), http.StatusOK), testid("quarantine"))
}

func TestReimportingByTheAPI(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	whole := o.call(t, http.MethodGet, v1+"/messages/"+sample.QuarantinedID, "", http.StatusOK)
	if raw, err := base64.StdEncoding.DecodeString(whole["raw_headers"].(string)); err != nil || !strings.HasSuffix(string(raw), sample.Hostile) {
		t.Errorf("raw headers are %q, %v", raw, err)
	}
	path := v1 + "/messages/" + sample.QuarantinedID + "/reimport"
	o.store.Refuses = "no such thing"
	w := o.json(http.MethodPost, path, `{"reason":"r"}`)
	wantCode(t, w, http.StatusConflict, "reimport_refused")
	asDescribed(t, http.MethodPost, path, w)
	if !strings.Contains(w.Body.String(), "no such thing") {
		t.Errorf("it does not say why: %s", w.Body)
	}
	many := fmt.Sprintf(`{"selection":{"ids":[%q,%q,"nope"]},"reason":"r"}`, sample.QuarantinedID, sample.StaleID)
	got := o.call(t, http.MethodPost, v1+"/messages/reimport", many, http.StatusOK)
	results := map[string]string{}
	for _, item := range got["items"].([]any) {
		m := item.(map[string]any)
		results[m["id"].(string)] = fmt.Sprint(m["result"], " ", m["why"])
	}
	want := map[string]string{sample.QuarantinedID: "refused no such thing", sample.StaleID: "bad_state <nil>", "nope": "not_found <nil>"}
	if fmt.Sprint(results) != fmt.Sprint(want) {
		t.Errorf("results are %v, want %v", results, want)
	}

	o.store.Refuses = ""
	o.call(t, http.MethodPost, path, `{"reason":""}`, http.StatusUnprocessableEntity)
	o.call(t, http.MethodPost, path, `{"reason":"fixed"}`, http.StatusOK)
	wantCode(t, o.json(http.MethodPost, path, `{"reason":"again"}`), http.StatusConflict, "not_quarantined")
	wantCode(t, o.json(http.MethodPost, v1+"/messages/nope/reimport", `{"reason":"r"}`), http.StatusNotFound, "not_found")
	ids := make([]string, maxLimit+1)
	for i := range ids {
		ids[i] = fmt.Sprintf("%q", fmt.Sprint(i))
	}
	wantCode(t, o.json(http.MethodPost, v1+"/messages/reimport", `{"selection":{"ids":[`+strings.Join(ids, ",")+`]},"reason":"r"}`), http.StatusUnprocessableEntity, "invalid")
}

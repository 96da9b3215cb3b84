package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

func TestTheMessagePageSaysWhatAReplaySends(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.store.AddFrameworks()
	doc := page(t, o.get("/messages/"+sample.EnvelopeID), http.StatusOK)
	wantText(t, doc, testid("why-it-died"), "EasyNetQ's envelope")
	wantText(t, doc, testid("failure-type"), "TimeoutException")
	wantText(t, doc, testid("broker-reason"), "Broker: rejected.")
	wantText(t, doc, testid("unit-edits"), "what is sent: the message inside the envelope")
	wantText(t, doc, testid("original-queue"), "Shop.PayOrder, Shop_sales")
	wantText(t, doc, testid("original-evidence"), "by its framework's own word")

	doc = page(t, o.get("/messages/"+sample.EditedID), http.StatusOK)
	wantText(t, doc, testid("why-it-died"), "the attempt before the last one")
	wantText(t, doc, testid("unit-edits"), "options.retries")
	wantText(t, doc, testid("unit-agree"), "The body is edited")

	doc = page(t, o.get("/messages/"+sample.ExpiredID), http.StatusOK)
	wantText(t, doc, testid("failure-type"), "No reason recorded")
	wantText(t, doc, testid("broker-reason"), "Broker: expired.")
	wantText(t, doc, testid("unit-what"), "The message as it died.")
}

func TestAnEditedBodyIsAgreedToOnTheConfirmPage(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.store.AddFrameworks()
	doc := page(t, o.get("/messages/"+sample.EditedID+"/replay"), http.StatusOK)
	wantText(t, doc, testid("confirm"), "not quite as it died")
	if box := doc.Find(testid("agree-edit_body")); box.Length() != 1 || box.AttrOr("name", "") != "override" || box.AttrOr("value", "") != "edit_body" {
		t.Errorf("%d boxes to agree to the edit", box.Length())
	}
}

func TestTheAPISaysWhatAReplaySends(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.store.AddFrameworks()
	got := o.call(t, http.MethodGet, v1+"/messages/"+sample.EditedID, "", http.StatusOK)
	unit, _ := got["unit"].(map[string]any)
	if unit["family"] != "dramatiq" || unit["needs_consent"] != true || unit["problem"] != nil {
		t.Errorf("unit %v", unit)
	}
}

func TestAnOperatorSaysWhereAMessageBelongs(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := v1 + "/messages/" + sample.WillRunID + "/original"
	for body, field := range map[string]string{
		`{"queue":"q.new","reason":""}`:                             "reason",
		`{"queue":"","reason":"renamed"}`:                           "queue",
		`{"queue":"q.pay.dlx.terminal","reason":"x"}`:               "queue",
		`{"queue":"` + strings.Repeat("q", 256) + `","reason":"x"}`: "queue",
	} {
		if got := o.call(t, http.MethodPost, path, body, http.StatusUnprocessableEntity); got["field"] != field {
			t.Errorf("%.60s: %v", body, got)
		}
	}
	got := o.call(t, http.MethodPost, path, `{"queue":"q.new","routing_key":"pay.success","reason":"renamed"}`, http.StatusOK)
	original, _ := got["original"].(map[string]any)
	if original["queue"] != "q.new" || original["evidence"] != dlq.OriginOperator || original["exchange"] != nil || original["routing_key"] != "pay.success" {
		t.Errorf("original %v", original)
	}
	o.call(t, http.MethodPost, v1+"/messages/"+sample.UnknownID+"/original", `{"queue":"q.new","reason":"renamed"}`, http.StatusConflict)
}

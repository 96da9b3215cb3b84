package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

func newContext(t *testing.T) echo.Context {
	t.Helper()
	return echo.New().NewContext(httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil), httptest.NewRecorder())
}

func TestTheOverviewSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get("/"), http.StatusOK)
	wantText(t, doc, testid("wrong"), "8 messages lie dead in pay-success since 01:13:07, 4 of them by BankTimeout.")
	byType := "/messages?source=pay-success&state=open&type=demo.pay.BankTimeout"
	if got := doc.Find(testid("wrong")+" a").First().AttrOr("href", ""); got != byType {
		t.Errorf("the failure links to %q", got)
	}
	if got := doc.Find(testid("source-row") + ` a[href="` + byType + `"]`).Length(); got != 1 {
		t.Errorf("%d top failures link to what died by them", got)
	}
	wantText(t, doc, testid("figure-open"), "11 179 died in this quarter of an hour")
	wantText(t, doc, testid("figure-oldest"), "3 h")
	wantText(t, doc, testid("figure-quarantined"), "1")
	wantText(t, doc, testid("figure-drain"), "2 of 3 up last message just now , 17 still on the broker")
	rows := doc.Find(testid("source-row"))
	if rows.Length() != 3 || rows.First().Find("svg.spark rect").Length() != 24 {
		t.Errorf("%d sources, %d bars", rows.Length(), rows.First().Find("svg.spark rect").Length())
	}
	wantText(t, doc, testid("lately"), "wei replayed P20260928377 message "+sample.ReplayedID+" : sent")
	if strings.Contains(text(doc, testid("lately")), "intended") {
		t.Error("an intention stands among what changed")
	}
	for _, id := range sampleIDs {
		o.store.Set(id, dlq.Resolved)
	}
	wantNone(t, page(t, o.get("/"), http.StatusOK), testid("wrong"))
}

// down is one drain that has lost its broker.
type down struct{ name string }

func (d down) Statuses() []dlq.SourceStatus {
	return []dlq.SourceStatus{{Name: d.name, Queue: "q.t", State: dlq.SourceDown, Why: "connection refused"}}
}
func (down) Pause(context.Context, string, dlq.Act) error  { return nil }
func (down) Resume(context.Context, string, dlq.Act) error { return nil }
func (down) Confirm(context.Context, string, []string, dlq.Act) error {
	return nil
}

func TestADrainThatIsDownIsSaidFirst(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(o *Options) { o.Sources = down{"pay"} })
	doc := page(t, o.get("/"), http.StatusOK)
	wantText(t, doc, testid("wrong"), "The drain of pay lost its broker. Messages wait on q.t ; none is lost.")
	wantText(t, doc, testid("wrong"), "connection refused")
}

func TestNamesWithAnyCharacterMakeWorkingAddresses(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a/b", "a b%2F", "..", ".", "?x#y", "中文", `"<script>`} {
		o := newOffice(t, at("/dlo"), func(o *Options) { o.Sources = down{name} })
		doc := page(t, o.get("/dlo/sources"), http.StatusOK)
		act := doc.Find(testid("pause")).AttrOr("href", "")
		doc = page(t, o.get(act), http.StatusOK)
		wantText(t, doc, "h1", "Pause the drain of "+name)
		if w := o.form(act, "reason", "r"); w.Code != http.StatusSeeOther {
			t.Errorf("pausing %q answers %d", name, w.Code)
		}
	}
}

func TestAQueueThatMayNotBeTerminalAsksFirst(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.sources.Wait()
	doc := page(t, o.get("/sources"), http.StatusOK)
	wantText(t, doc, "#source-refunds", "blocked Pause… This may not be a terminal queue. Nothing is drained until somebody confirms that it is to be:")
	wantText(t, doc, "#source-refunds", "expire after 60000 ms")
	wantText(t, doc, "#source-order-callback", "Drained all the same: confirmed by")
	wantNone(t, doc, "#source-order-callback "+testid("confirm-hazards"))
	doc = page(t, o.get("/sources/refunds/confirm"), http.StatusOK)
	wantText(t, doc, "h1", "Drain refunds all the same")
	seen := doc.Find(`input[name="hazard"]`)
	if seen.Length() != 3 {
		t.Fatalf("the form names %d hazards, want all 3", seen.Length())
	}
	page(t, o.form("/sources/refunds/confirm", "reason", "it is the last queue", "hazard", "message_ttl=5"), http.StatusConflict)
	fields := []string{"reason", "it is the last queue"}
	for i := range seen.Length() {
		fields = append(fields, "hazard", seen.Eq(i).AttrOr("value", ""))
	}
	page(t, o.form("/sources/refunds/confirm", fields[2:]...), http.StatusUnprocessableEntity)
	if w := o.form("/sources/refunds/confirm", fields...); w.Code != http.StatusSeeOther {
		t.Fatalf("answer is %d %s", w.Code, w.Body)
	}
	doc = page(t, o.get("/sources"), http.StatusOK)
	wantText(t, doc, "#source-refunds", "Drained all the same: confirmed by anna")
	page(t, o.form("/sources/refunds/confirm", fields...), http.StatusConflict)
	if doc := page(t, o.get("/sources/pay-success/confirm"), http.StatusOK); doc.Find(testid("confirm-button")).Length() > 0 {
		t.Error("there is nothing to confirm, and yet a button for it")
	}
}

func TestASourceIsPausedAndResumedWithAReason(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	page(t, o.form("/sources/pay-success/pause"), http.StatusUnprocessableEntity)
	if w := o.form("/sources/pay-success/pause", "reason", "deploy"); w.Header().Get("Location") != "/sources#source-pay-success" {
		t.Fatalf("answer is %d to %q", w.Code, w.Header().Get("Location"))
	}
	doc := page(t, o.get("/sources"), http.StatusOK)
	wantText(t, doc, "#source-pay-success", "paused Resume… Paused by anna.")
	wantText(t, doc, "#source-order-callback", "Messages in the queue expire after 604800000 ms")
	wantText(t, doc, testid("effective"), "amqp://dlo:***@broker")
	if w := o.form("/sources/pay-success/resume", "reason", "done"); w.Code != http.StatusSeeOther {
		t.Errorf("answer is %d", w.Code)
	}
}

func TestAKeyIsOpenedWithItsEvidence(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get("/keys?key="+url.QueryEscape(sample.KeyOf("P20260928001"))), http.StatusOK)
	wantText(t, doc, testid("key-state"), "held, stale")
	wantText(t, doc, testid("key"), "Frees itself in 23 h 38 min. Taken 22 min ago.")
	wantText(t, doc, testid("key"), "order state Found INIT , lets it through")
	wantText(t, doc, testid("key-messages"), "BankTimeout")
	wantText(t, doc, testid("key-releases"), "wei: changed the first try")
	wantNone(t, doc, testid("why-not"))
	doc = page(t, o.get("/keys?key="+url.QueryEscape(sample.KeyOf("P20260928310"))), http.StatusOK)
	wantText(t, doc, testid("why-not"), "nothing to release")
	wantNone(t, doc, testid("release"))
	wantText(t, page(t, o.get("/keys?key=nope"), http.StatusNotFound), testid("open-key"), "belongs to no configured key space")
	page(t, o.get("/keys?key="+strings.Repeat("k", 1025)), http.StatusBadRequest)
}

func TestAKeyIsReleasedAsItWasSeen(t *testing.T) {
	t.Parallel()
	key := sample.KeyOf("P20260928001")
	for result, want := range map[keys.ReleaseResult]string{
		keys.Released: "was released", keys.Gone: "was gone already", keys.Reacquired: "was taken again while you looked", keys.Protected: "is protected",
	} {
		o := newOffice(t)
		o.replays.Result = result
		doc := page(t, o.get("/keys/release?key="+url.QueryEscape(key)), http.StatusOK)
		if got := doc.Find(`input[name="seen"]`).AttrOr("value", ""); got != "seen-P20260928001" {
			t.Fatalf("the token is %q", got)
		}
		page(t, o.form("/keys/release", "key", key, "seen", "s"), http.StatusUnprocessableEntity)
		doc = page(t, o.form("/keys/release", "key", key, "seen", "s", "reason", "r"), statusOfRelease(result))
		wantText(t, doc, testid("notice"), key+" "+want)
	}
}

func TestAReplaySaysWhatBecameOfTheMessageAndHowThatIsKnown(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get("/replays/81"), http.StatusOK)
	wantText(t, doc, testid("notice"), "P20260928310 was processed. The work is done, and the message is resolved. Known from the consumer's own report.")
	wantText(t, doc, testid("released"), sample.KeyOf("P20260928310")+" released")
	wantText(t, page(t, o.get("/replays/82"), http.StatusOK), testid("outcome-source"), "not known yet")
	wantText(t, page(t, o.get("/replays/80"), http.StatusOK), testid("notice"), "may or may not have been sent")
	if n := page(t, o.get("/replays"), http.StatusOK).Find(testid("replay")).Length(); n != 4 {
		t.Errorf("%d replays are listed, want 4", n)
	}
}

func TestAPreferenceIsKeptAndLeadsBack(t *testing.T) {
	t.Parallel()
	o := newOffice(t, at("/dlo"))
	for back, want := range map[string]string{
		"/dlo/messages?state=open": "/dlo/messages?state=open", "https://evil.example/": "/dlo/", "//evil.example": "/dlo/", "/other": "/dlo/",
		`/dlo/\evil`: "/dlo/", "": "/dlo/", "/dlo/\r\nX: y": "/dlo/",
	} {
		w := o.form("/dlo/preferences", "name", "theme", "value", "dark", "back", back)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
			t.Errorf("back to %q answers %d to %q, want %q", back, w.Code, w.Header().Get("Location"), want)
		}
		cookie := w.Result().Cookies()[0]
		if cookie.Name != "dlo_theme" || cookie.Path != "/dlo/" || !cookie.HttpOnly {
			t.Errorf("the cookie is %+v", cookie)
		}
	}
	for _, pair := range [][2]string{{"theme", "neon"}, {"session", "x"}, {"", ""}} {
		page(t, o.form("/dlo/preferences", "name", pair[0], "value", pair[1]), http.StatusBadRequest)
	}
	doc := page(t, o.get("/dlo/messages", "Cookie", "dlo_theme=dark; dlo_lang=zh-CN; dlo_times=clock; dlo_hotkeys=off"), http.StatusOK)
	if html := doc.Find("html"); html.AttrOr("data-theme", "") != "dark" || html.AttrOr("lang", "") != "zh-CN" {
		t.Error("the theme or the language was not taken")
	}
	wantText(t, doc, testid("message")+":first-child", "03:09:07")
	wantNone(t, doc, "[data-hotkeys]")
}

func TestPagesWorkWithoutWhatNpmBrings(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for name := range o.assets.files {
		if strings.HasPrefix(name, "vendor/") {
			delete(o.assets.files, name)
		}
	}
	doc := page(t, o.get("/"), http.StatusOK)
	if n := doc.Find("script").Length(); n != 1 {
		t.Errorf("%d scripts, want the console's own", n)
	}
	o.assets.files["vendor/htmx-ext-sse.js"], o.assets.files["vendor/htmx.min.js"] = asset{url: "b"}, asset{url: "a"}
	if got := o.assets.scripts(); !slices.Equal(got[:2], []string{"a", "b"}) {
		t.Errorf("scripts come in the order %v, htmx first", got)
	}
}

func TestTheMountedRootLeadsToTheOverview(t *testing.T) {
	t.Parallel()
	if w := newOffice(t, at("/dlo/")).get("/dlo"); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != "/dlo/" {
		t.Errorf("answer is %d to %q", w.Code, w.Header().Get("Location"))
	}
}

func TestWrongOptionsAreNamedTogether(t *testing.T) {
	t.Parallel()
	_, err := New(Options{})
	for _, name := range []string{"Messages", "Sources", "Replays", "Audit", "Actor"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	for _, base := range []string{"/a?b", "/a//b", "/a b", "/:x", "/*"} {
		if _, err := newLinks(base, ""); err == nil {
			t.Errorf("base path %q was taken", base)
		}
	}
	for _, external := range []string{"console.example", "ftp://x", "http://", ":"} {
		if _, err := newLinks("/", external); err == nil {
			t.Errorf("external URL %q was taken", external)
		}
	}
}

package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

func TestTheListShowsTheNewestDeathFirst(t *testing.T) {
	t.Parallel()
	doc := page(t, newOffice(t).get("/messages?state=open"), http.StatusOK)
	rows := doc.Find(testid("message"))
	if rows.Length() != 11 {
		t.Fatalf("%d rows, want 11", rows.Length())
	}
	if got := rows.First().AttrOr("data-id", ""); got != sample.WillRunID {
		t.Errorf("the first row is %s", got)
	}
	wantText(t, doc, testid("total"), "11 dead letters match")
	first := rows.First().Text()
	if want := "4 min ago P20260928389 BankTimeout Harbour Bank gave no answer in 10 s 5 q.pay.success open"; dense(first) != dense(want) {
		t.Errorf("the first row says %q, want %q", first, want)
	}
	if got := rows.First().Find("time").AttrOr("title", ""); got != "28 Sep 2026, 03:09:07" {
		t.Errorf("the time on hover is %q", got)
	}
}

func TestTheFilterIsBoundFromTheAddressAndKeptInTheForm(t *testing.T) {
	t.Parallel()
	v := url.Values{"q": {` "a phrase" `}, "state": {"open", "replayed"}, "source": {"s"}, "reason": {"expired"}, "type": {"demo.Timeout"}, "retries_min": {"2"}, "retries_max": {"5"}, "limit": {"7"}, "cursor": {"c"}}
	got, err := queryOf(v).filter()
	if err != nil {
		t.Fatal(err)
	}
	two, five := int64(2), int64(5)
	want := dlq.Filter{
		Text: "a phrase", States: []dlq.State{dlq.Open, dlq.Replayed}, Source: "s", Reason: dlq.Expired, FailureType: "demo.Timeout",
		RetriesMin: &two, RetriesMax: &five, Limit: 7, Cursor: "c",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	doc := page(t, newOffice(t).get("/messages?state=open&source=pay-success&retries_min=1&q=harbour"), http.StatusOK)
	for selector, want := range map[string]string{"#q": "harbour", "#retries_min": "1", "#f-state option[selected]": "open", "#f-source option[selected]": "pay-success"} {
		if got := doc.Find(selector).AttrOr("value", ""); got != want {
			t.Errorf("%s is %q, want %q", selector, got, want)
		}
	}
}

func TestTheListIsNarrowedToOneTypeOfFailure(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get("/messages?state=open"), http.StatusOK)
	narrowed := doc.Find(testid("facets") + ` a[href*="type=demo.pay.BankTimeout"]`)
	wantText(t, doc, testid("facets"), "Failure BankTimeout 8")
	wantText(t, doc, testid("facets"), "Broker's reason rejected")
	doc = page(t, o.get(narrowed.AttrOr("href", "")+"&limit=2"), http.StatusOK)
	for _, row := range doc.Find(testid("message")).EachIter() {
		if got := row.Text(); !strings.Contains(got, "BankTimeout") {
			t.Errorf("a row says %q", got)
		}
	}
	wantText(t, doc, testid("only-type"), "Only BankTimeout")
	if got := doc.Find(testid("only-type")).AttrOr("href", ""); got != "/messages?state=open" {
		t.Errorf("the way back is %q", got)
	}
	if got := doc.Find(testid("filter")+` input[name="type"]`).AttrOr("value", ""); got != "demo.pay.BankTimeout" {
		t.Errorf("the form keeps the type %q", got)
	}
	if got := doc.Find(testid("older")).AttrOr("href", ""); !strings.Contains(got, "type=demo.pay.BankTimeout") {
		t.Errorf("the next page is %q", got)
	}
	doc = page(t, o.get("/messages?type=Rare"), http.StatusOK)
	if got := doc.Find(testid("facets")+` a[aria-current]`).AttrOr("href", ""); got != "/messages" {
		t.Errorf("a rare type is not shown as chosen: %q", got)
	}
}

func TestSearchTextIsTakenLiterally(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]string{
		"":            "",
		"bank down":   "bank down",
		`"state:x"`:   "state:x",
		`"a":"b"`:     `"a":"b"`,
		`"`:           `"`,
		"http://a":    "http://a",
		`{"state":1}`: `{"state":1}`,
	} {
		if got, err := searchText(q); err != nil || got != want {
			t.Errorf("searchText(%q) = %q, %v; want %q", q, got, err, want)
		}
	}
	for _, q := range []string{"state:open", "x reason:expired", "retries:>=5", "a\x00b", "\xff", strings.Repeat("x", 1001)} {
		if _, err := searchText(q); err == nil {
			t.Errorf("searchText(%q) was taken", q)
		}
	}
}

func TestAQueryThatCannotBeReadIsShownWithTheReason(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get("/messages?retries_min=five&state=open"), http.StatusBadRequest)
	wantText(t, doc, testid("query-error"), "takes a number from 0")
	if got := doc.Find("[aria-invalid]").AttrOr("value", ""); got != "five" {
		t.Errorf("the field that is marked holds %q", got)
	}
	wantText(t, page(t, o.get("/messages?retries_min=five", "Accept-Language", "zh"), 400), testid("query-error"), "整数")
}

func TestAnEmptyListSaysWhatWouldBeThere(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get("/messages?q=nothing-has-this"), http.StatusOK)
	wantText(t, doc, testid("empty"), "No dead letter matches")
	wantText(t, doc, testid("total"), "no dead letter matches")
	one := page(t, o.get("/messages?type=AccountBalanceLow"), http.StatusOK)
	if got := text(one, testid("total")); got != "1 dead letter matches" {
		t.Errorf("of one message it says %q", got)
	}
	if got := doc.Find(testid("empty")+" a").AttrOr("href", ""); got != "/messages" {
		t.Errorf("the way out is %q", got)
	}
	for _, id := range sampleIDs {
		o.store.Set(id, dlq.Resolved)
	}
	wantText(t, page(t, o.get("/messages?state=open"), http.StatusOK), testid("empty"), "No dead letters")
}

func TestPagesOfTheListAreLinkedWithTheFilter(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get("/messages?state=open&limit=5"), http.StatusOK)
	older := doc.Find(testid("older")).AttrOr("href", "")
	if older != "/messages?cursor=next&limit=5&state=open" {
		t.Errorf("older is %q", older)
	}
	doc = page(t, o.get(older), http.StatusOK)
	if got := doc.Find(`a[rel="first"]`).AttrOr("href", ""); got != "/messages?state=open" {
		t.Errorf("newest is %q", got)
	}
	wantNone(t, doc, testid("older"))
	page(t, o.get("/messages?cursor=bogus"), http.StatusBadRequest)
}

func TestAFacetNarrowsAndWidensAgain(t *testing.T) {
	t.Parallel()
	doc := page(t, newOffice(t).get("/messages?state=open&reason=expired"), http.StatusOK)
	links := map[string]string{}
	doc.Find(testid("facets") + " a").Each(func(i int, _ *goquery.Selection) {
		a := doc.Find(testid("facets") + " a").Eq(i)
		links[a.AttrOr("title", "")] = a.AttrOr("href", "")
	})
	for title, want := range map[string]string{
		"open": "/messages?reason=expired", "resolved": "/messages?reason=expired&state=resolved",
		"expired": "/messages?state=open", "pay-success": "/messages?reason=expired&source=pay-success&state=open",
	} {
		if links[title] != want {
			t.Errorf("%s leads to %q, want %q", title, links[title], want)
		}
	}
}

func TestChosenMessagesAreShownBeforeTheyAreDiscarded(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get("/messages/discard?id="+sample.StaleID+"&id="+sample.ResolvedID), http.StatusOK)
	wantText(t, doc, "h1", "Discard 1 message")
	wantText(t, doc, testid("confirm"), "left alone")
	if n := doc.Find(`input[type="hidden"][name="id"]`).Length(); n != 1 {
		t.Errorf("%d messages are to be discarded, want the open one", n)
	}
	if got := doc.Find(testid("reason")).AttrOr("required", "no"); got == "no" {
		t.Error("a reason is not asked for")
	}
	w := o.form("/messages/discard", "id", sample.StaleID, "id", sample.WillRunID, "reason", "test")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/messages?state=discarded" {
		t.Errorf("answer is %d to %q", w.Code, w.Header().Get("Location"))
	}
	doc = page(t, o.form("/messages/discard", "id", sample.StaleID, "id", sample.RefusedID, "reason", "test"), http.StatusConflict)
	wantText(t, doc, testid("notice"), "1 of 2 was discarded.")
	wantText(t, doc, testid("results"), "left alone")
	page(t, o.form("/messages/discard", "id", sample.RefusedID), http.StatusUnprocessableEntity)
}

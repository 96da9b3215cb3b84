package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

func entries(doc *goquery.Document) int { return doc.Find(testid("entry")).Length() }

func TestAnEntryNamesTheMessageByItsBusinessKeyToo(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get("/audit"), http.StatusOK)
	if got := text(doc, testid("business-key")); !strings.HasPrefix(got, "P20260928377") {
		t.Errorf("the business keys are %q", got)
	}
	wantText(t, page(t, o.get("/"), http.StatusOK), testid("lately"), "wei replayed P20260928377 message "+sample.ReplayedID)
}

func TestTheAuditIsSearched(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for asked, want := range map[string]int{
		"Harbour Bank":                     2, // the reason
		"P20260928377":                     2, // the business key of a message
		sample.ReplayedID:                  2,
		"message " + sample.ReplayedID:     2,
		"points":                           1, // a source
		sample.KeyOf("P20260928310"):       1,
		"nothing of this kind was ever so": 0,
	} {
		doc := page(t, o.get("/audit?q="+url.QueryEscape(asked)), http.StatusOK)
		if got := entries(doc); got != want {
			t.Errorf("%q finds %d entries, want %d", asked, got, want)
		}
		wantText(t, doc, testid("bound"), "among the newest 10,000 entries")
		if got := doc.Find("#q").AttrOr("value", ""); got != asked {
			t.Errorf("the field holds %q, want %q", got, asked)
		}
	}
}

func TestNothingThatMatchesIsNotNothingYet(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, path := range []string{"/audit?q=nope", "/audit?object=message+nope", "/audit?operation=nope"} {
		doc := page(t, o.get(path), http.StatusOK)
		wantText(t, doc, testid("empty"), "No entry matches")
		if strings.Contains(text(doc, testid("empty")), "yet") {
			t.Errorf("%s says that there is nothing yet", path)
		}
	}
}

func TestAnActThatWasRefusedIsNotCalledDone(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := "/audit?object=" + url.QueryEscape("message "+sample.ResolvedID)
	doc := page(t, o.get(path), http.StatusOK)
	wantText(t, doc, testid("entry"), "tried to discard")
	wantText(t, doc, testid("entry"), "not open")
	wantText(t, page(t, o.get(path, "Accept-Language", "zh-CN"), http.StatusOK), testid("entry"), "试图丢弃")
	if got := text(page(t, o.get(path, "Accept-Language", "zh-CN"), http.StatusOK), testid("entry")); strings.Contains(got, "bad state") || !strings.Contains(got, "不是待处理") {
		t.Errorf("in Chinese the entry says %q", got)
	}
	if strings.Contains(text(doc, testid("entry")), "discarded") {
		t.Error("what was refused is said to be done")
	}
}

func TestTheMenuOfAPhoneSaysWhatItsThemesAre(t *testing.T) {
	t.Parallel()
	doc := page(t, newOffice(t).get("/messages"), http.StatusOK)
	wantText(t, doc, ".nav__head", "Theme")
	wantText(t, doc, ".facets-open", "Narrow the list")
	if doc.Find(".facets-open .vh").Length() > 0 {
		t.Error("the button's label is hidden")
	}
}

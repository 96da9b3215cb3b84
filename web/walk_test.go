package web

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

var sampleIDs = []string{
	sample.StaleID, sample.WillRunID, sample.NoKeyID, sample.ReplayedID, sample.ResolvedID, sample.DiscardedID, sample.QuarantinedID,
	sample.UnknownID, sample.HostileID, sample.RefusedID, sample.ExpiredID, sample.BinaryID, sample.UnreadID, sample.DoneID, sample.CopyID,
}

// everyPage is the path of each page in each of its situations, with the status.
func everyPage() map[string]int {
	hostileKey := url.QueryEscape(sample.KeyOf(sample.Hostile))
	pages := map[string]int{
		"/": 200, "/messages": 200, "/messages?state=open&source=pay-success": 200, "/messages?q=nothing+has+this": 200,
		"/messages?q=" + url.QueryEscape(sample.Hostile): 200, "/messages?retries_min=five": 400, "/messages?q=state:open": 400, "/messages?cursor=bogus": 400,
		"/messages/discard?id=" + sample.StaleID + "&id=" + sample.ResolvedID + "&id=" + sample.HostileID: 200, "/messages/restore?id=" + sample.DiscardedID: 200, "/messages/discard": 422,
		"/messages/" + sample.UnknownID + "/settle": 200, "/messages/" + sample.StaleID + "/settle": 409, "/messages/nope": 404,
		"/replays": 200, "/replays/79": 200, "/replays/80": 200, "/replays/81": 200, "/replays/82": 200, "/replays/1": 404, "/replays/x": 404,
		"/keys": 200, "/keys?key=" + hostileKey: 200, "/keys?key=" + sample.KeyOf("P20260928310"): 200, "/keys?key=" + url.QueryEscape(sample.Hostile): 404,
		"/keys/release?key=" + hostileKey: 200, "/keys/release?key=" + sample.KeyOf("P20260928310"): 200,
		"/sources": 200, "/sources/points/pause": 200, "/sources/points/resume": 200, "/sources/nope/pause": 404,
		"/sources/points/confirm": 200, "/sources/pay-success/confirm": 200, "/sources/nope/confirm": 404,
		"/audit": 200, "/audit?object=" + url.QueryEscape("message "+sample.Hostile): 200, "/audit?before=0": 400, "/nope": 404, "/" + url.PathEscape(sample.Hostile): 404,
	}
	for _, id := range sampleIDs {
		pages["/messages/"+id] = 200
		for _, view := range []string{"tree", "pretty", "raw", "hex"} {
			pages["/messages/"+id+"?view="+view] = 200
		}
		pages["/messages/"+id+"/replay"], pages["/messages/"+id+"/release"] = 200, 200
	}
	pages["/messages/reimport?id="+sample.QuarantinedID+"&id="+sample.StaleID], pages["/messages/reimport"] = 200, 422
	pages["/messages?mark=quarantine"], pages["/messages?mark=possible_copy"], pages["/messages?mark=red"] = 200, 200, 400
	pages["/messages/"+sample.CopyID+"/not_a_copy"], pages["/messages/"+sample.StaleID+"/not_a_copy"] = 200, 409
	pages["/messages/"+sample.UnreadID+"/replay"], pages["/messages/"+sample.UnreadID+"/release"] = 503, 503
	return pages
}

// TestEveryPage walks all pages in both languages and looks at what holds for
// each of them: the status, nothing inline that the policy forbids, nothing of
// a hostile producer taken for markup, every link under the base path, every
// text there, and what a screen reader needs.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	for lang, base := range map[string]string{"en": "/", "zh-CN": "/dlo/"} {
		o := newOffice(t, at(base))
		for path, status := range everyPage() {
			t.Run(lang+" "+o.links.base+path, func(t *testing.T) {
				w := o.get(o.links.base+path, "Accept-Language", lang)
				doc := page(t, w, status)
				checkPolicy(t, doc)
				checkLinks(t, doc, o.links.base)
				checkAccess(t, doc)
				checkTexts(t, o.texts.in(lang), doc, lang)
				if body := w.Body.String(); strings.Contains(body, "<script>alert") || strings.Contains(body, "<img src=x") {
					t.Error("hostile text stands unescaped")
				}
			})
		}
	}
}

// checkPolicy finds what a strict Content-Security-Policy would block, and
// what a hostile text would have become.
func checkPolicy(t *testing.T, doc *goquery.Document) {
	t.Helper()
	wantNone(t, doc, "style, [style], img, iframe, object, embed, base, script:not([src])")
	doc.Find("*").Each(func(_ int, s *goquery.Selection) {
		for _, a := range s.Nodes[0].Attr {
			if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(a.Key, "hx-on") || strings.HasPrefix(strings.TrimSpace(strings.ToLower(a.Val)), "javascript:") {
				t.Errorf("<%s %s=%q> is a script", s.Nodes[0].Data, a.Key, a.Val)
			}
		}
	})
}

// checkLinks finds addresses that leave the console, or its base path.
func checkLinks(t *testing.T, doc *goquery.Document, base string) {
	t.Helper()
	for _, attr := range []string{"href", "src", "action", "formaction", "sse-connect"} {
		doc.Find("[" + attr + "]").Each(func(_ int, s *goquery.Selection) {
			to := s.AttrOr(attr, "")
			if strings.HasPrefix(to, "#") || to == "https://runbooks.example/pay" {
				return
			}
			if !strings.HasPrefix(to, base+"/") || strings.HasPrefix(to, "//") {
				t.Errorf("%s=%q leaves the base path %q", attr, to, base)
			}
		})
	}
}

// checkAccess finds what a reader without eyes or without a mouse would miss.
func checkAccess(t *testing.T, doc *goquery.Document) {
	t.Helper()
	if n := doc.Find("main").Length(); n != 1 {
		t.Errorf("%d main landmarks", n)
	}
	if n := doc.Find("h1").Length(); n != 1 {
		t.Errorf("%d first headings", n)
	}
	if doc.Find("html").AttrOr("lang", "") == "" || strings.TrimSpace(doc.Find("title").Text()) == "" {
		t.Error("the language or the title is missing")
	}
	ids := map[string]bool{}
	doc.Find("[id]").Each(func(_ int, s *goquery.Selection) {
		id := s.AttrOr("id", "")
		if ids[id] {
			t.Errorf("id %q stands twice", id)
		}
		ids[id] = true
	})
	doc.Find("input:not([type=hidden]), select, textarea").Each(func(_ int, s *goquery.Selection) {
		named := s.AttrOr("aria-label", "") != "" || doc.Find(fmt.Sprintf("label[for=%q]", s.AttrOr("id", ""))).Length() > 0
		if !named {
			t.Errorf("the field %q has no label", s.AttrOr("name", ""))
		}
	})
	doc.Find("a, button, summary").Each(func(_ int, s *goquery.Selection) {
		if strings.TrimSpace(s.Text()) == "" && s.Find("[aria-label]").Length() == 0 && s.AttrOr("aria-label", "") == "" {
			html, _ := goquery.OuterHtml(s)
			t.Errorf("nothing says what this does: %s", html)
		}
	})
	doc.Find("[aria-labelledby], [aria-describedby]").Each(func(_ int, s *goquery.Selection) {
		for _, attr := range []string{"aria-labelledby", "aria-describedby"} {
			if id := s.AttrOr(attr, ""); id != "" && !ids[id] {
				t.Errorf("%s=%q names nothing", attr, id)
			}
		}
	})
}

var textID = regexp.MustCompile(`^[a-z_]+(\.[a-z_]{2,})+$`)

// checkTexts finds ids of texts that stand where a text should.
func checkTexts(t *testing.T, w words, doc *goquery.Document, lang string) {
	t.Helper()
	if got := doc.Find("html").AttrOr("lang", ""); got != lang {
		t.Errorf("the page is in %q, want %q", got, lang)
	}
	for word := range strings.FieldsSeq(doc.Find("body").Text()) {
		family, _, _ := strings.Cut(word, ".")
		if textID.MatchString(word) && textFamilies[family] && !w.has(word) {
			t.Errorf("%q looks like the id of a text that is missing", word)
		}
	}
}

func TestPagesOfReadersOfferNoActs(t *testing.T) {
	t.Parallel()
	o := newOffice(t, as("viewer"))
	for path, status := range everyPage() {
		if status != http.StatusOK || strings.HasSuffix(path, "/replay") || strings.HasSuffix(path, "/release") || strings.Contains(path, "/pause") || strings.HasSuffix(path, "/confirm") ||
			strings.Contains(path, "/resume") || strings.Contains(path, "discard") || strings.Contains(path, "restore") || strings.Contains(path, "settle") || strings.Contains(path, "not_a_copy") || strings.Contains(path, "reimport") || strings.Contains(path, "/keys/release") {
			continue
		}
		doc := page(t, o.get(path), http.StatusOK)
		wantNone(t, doc, `form[method="post"]:not([action="/preferences"])`)
		wantNone(t, doc, `a[href*="/replay"]:not([href^="/replays"]), a[href*="/release"], a[href*="/discard"], a[href*="/pause"], a[href*="/confirm"], a[href*="/settle"]`)
		wantNone(t, doc, testid("discard-selected"))
	}
}

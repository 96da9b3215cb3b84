package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

func TestAReplayThatDiedAgainSaysWhyAndLeadsToTheMessage(t *testing.T) {
	t.Parallel()
	doc := page(t, newOffice(t).get("/replays/83"), http.StatusOK)
	wantText(t, doc, testid("notice"), "It died again by AccountBalanceLow: 312.40 available, 799.00 needed")
	if n := strings.Count(text(doc, testid("notice")), "terminal queue"); n != 1 {
		t.Errorf("it says %d times that it came back", n)
	}
	links := doc.Find(testid("notice") + ` a[href="/messages/` + sample.DiscardedID + `"]`)
	if got := links.Last().Text(); got != "Open the message" {
		t.Errorf("the way on says %q", got)
	}
	doc = page(t, newOffice(t).get("/replays/81"), http.StatusOK)
	if got := text(doc, testid("notice")); strings.Contains(got, "died again") {
		t.Errorf("a replay that was processed says %q", got)
	}
}

func TestWhatTheGuardsSaidBeforeAReplayIsShownAsGuards(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get("/replays/81"), http.StatusOK)
	wantText(t, doc, testid("guards-before"), "1 Idempotency key lets it through")
	wantText(t, doc, testid("guards-before"), "2 Order state lets it through Found INIT")
	if got := text(doc, testid("item")); strings.Contains(got, `"guards"`) {
		t.Errorf("the page shows JSON: %q", got)
	}
	// What it cannot read it shows as it was recorded.
	f := o.frame(newContext(t), "", "")
	if got := o.guardsBefore(f, []byte(`{"guards":"none"}`)); len(got) != 0 {
		t.Errorf("%d guards of none", len(got))
	}
}

// The heading stands where no event brings it anew, beside ages that do.
func TestTheHeadingOfAReplayHasAClockTime(t *testing.T) {
	t.Parallel()
	doc := page(t, newOffice(t).get("/replays/81"), http.StatusOK)
	if got := text(doc, ".head time"); strings.Contains(got, "ago") || strings.Contains(got, "now") || !strings.Contains(got, ":") {
		t.Errorf("the heading says %q", got)
	}
}

func TestAConfirmPageSaysWhatChangesInTheHeaders(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := "/messages/" + sample.StaleID + "/release"
	wantText(t, page(t, o.get(path), http.StatusOK), testid("confirm"), "with its bytes, and its headers less 7; three dlo- headers are added.")
	wantText(t, page(t, o.get(path, "Accept-Language", "zh-CN"), http.StatusOK), testid("confirm"), "消息头去除 7 个，并加上三个 dlo- 消息头")
}

func TestTheGuardPackageCountsFailedRuns(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := "/messages/" + sample.RefusedID
	wantText(t, page(t, o.get(path), http.StatusOK), testid("retry-count"), "5 failed runs, by its own header")
	wantText(t, page(t, o.get(path, "Accept-Language", "zh-CN"), http.StatusOK), testid("retry-count"), "失败 5 次")
	f := messagePage{frame: o.frame(newContext(t), "", "")}
	one := int64(1)
	f.why(dlq.Life{Facts: dlq.Facts{RetryCount: &one, RetryCountSource: dlq.RetriesFromXDeath, Failure: dlq.Failure{Extractor: "guard"}}})
	if f.Why.Retries != "1 retry, by x-death" {
		t.Errorf("a count of the broker's says %q", f.Why.Retries)
	}
}

func TestACardSaysASentenceOnce(t *testing.T) {
	t.Parallel()
	doc := page(t, newOffice(t).get("/messages/"+sample.WillRunID), http.StatusOK)
	if n := strings.Count(text(doc, testid("preflight")), "The key is absent"); n != 1 {
		t.Errorf("it says %d times that the key is absent", n)
	}
	o := newOffice(t)
	absent := replay.GuardAnswer{Kind: replay.KindKey, Says: replay.SaysPasses, Key: "k", State: "absent", Evidence: replay.WhyAbsent}
	steps := o.guardSteps(o.frame(newContext(t), "", ""), []replay.GuardAnswer{absent, absent})
	if steps[0].Why == "" || steps[1].Why != "" {
		t.Errorf("two keys say %q and %q", steps[0].Why, steps[1].Why)
	}
}

func TestObjectsOfTheAuditAreInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	doc := page(t, newOffice(t).get("/audit", "Accept-Language", "zh-CN"), http.StatusOK)
	for _, want := range []string{"死信 " + sample.ReplayedID, "来源 points", "键 " + sample.KeyOf("P20260928310")} {
		wantText(t, doc, testid("audit"), want)
	}
}

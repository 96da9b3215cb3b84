package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

// timelineOf reads all pages of a timeline, the given number of events each.
func (o office) timelineOf(t *testing.T, id string, limit int) []string {
	t.Helper()
	var events []string
	for cursor := ""; ; {
		got := o.call(t, http.MethodGet, with(v1+"/messages/"+id+"/timeline", "limit", fmt.Sprint(limit), "cursor", cursor), "", http.StatusOK)
		items := got["items"].([]any)
		if len(items) > limit || len(items) == 0 && cursor != "" {
			t.Fatalf("%d events on a page of %d", len(items), limit)
		}
		for _, item := range items {
			line, err := json.Marshal(item)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, string(line))
		}
		if got["next_cursor"] == nil {
			return events
		}
		cursor = got["next_cursor"].(string)
	}
}

func TestATimelineIsTheSameWhateverThePages(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, id := range []string{sample.StaleID, sample.DiscardedID, sample.HostileID, sample.ResolvedID} {
		whole := o.timelineOf(t, id, 500)
		if len(whole) < 2 || len(whole) != len(slices.Compact(slices.Sorted(slices.Values(whole)))) {
			t.Errorf("%s has %d events, some of them twice: %v", id, len(whole), whole)
		}
		for _, limit := range []int{1, 2, 3, 7, 50} {
			if got := o.timelineOf(t, id, limit); !slices.Equal(got, whole) {
				t.Errorf("%s: pages of %d have %d events, not the %d of one page:\n%v\n%v", id, limit, len(got), len(whole), got, whole)
			}
		}
	}
	if n := len(o.timelineOf(t, sample.DiscardedID, 500)); n != 2*45+2 {
		t.Errorf("%d events, want each of the 45 deaths and drains, a replay and its outcome", n)
	}
}

func TestATimelineRefusesAPlaceThatItDidNotHandOut(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, cursor := range []string{"x", "AAAA", "AAAAAAA", "____________________", "AAAAAP_______fw"} {
		wantCode(t, o.get(v1+"/messages/"+sample.StaleID+"/timeline?cursor="+cursor), http.StatusBadRequest, "bad_cursor")
	}
	wantCode(t, o.get(v1+"/messages/"+sample.StaleID+"/timeline?limit=0"), http.StatusBadRequest, "bad_query")
}

func FuzzTimelinePlace(f *testing.F) {
	f.Add("AAAAAA")
	f.Add(timelinePlace{5, 1 << 40, 7, 9}.String())
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseTimelinePlace(s)
		if err != nil {
			return
		}
		again, err := parseTimelinePlace(p.String())
		if err != nil || again != p {
			t.Errorf("%q is read as %v, and that as %v (%v)", s, p, again, err)
		}
		for strand := range strands {
			if p.from(strand) < 0 {
				t.Errorf("%q goes on from %d", s, p.from(strand))
			}
		}
	})
}

func TestAMessageWithManyLivesShowsThemAPageAtATime(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := "/messages/" + sample.DiscardedID
	doc := page(t, o.get(path), http.StatusOK)
	wantText(t, doc, testid("lives-count"), "45 lives")
	wantText(t, doc, testid("lives"), "45 to 26 of 45")
	if n := doc.Find(testid("life")).Length(); n != lifetime {
		t.Errorf("%d lives are shown, want %d", n, lifetime)
	}
	older := func() string { return doc.Find(testid("lives")+" "+testid("older-page")).AttrOr("href", "") }
	if got := older(); got != path+"?lives=26#lives" {
		t.Fatalf("older ones are at %q", got)
	}
	doc = page(t, o.get(path+"?lives=26"), http.StatusOK)
	wantText(t, doc, testid("lives"), "25 to 6 of 45")
	doc = page(t, o.get(path+"?lives=6"), http.StatusOK)
	wantText(t, doc, testid("lives"), "5 to 1 of 45")
	if got := older(); got != "" {
		t.Errorf("after the first life comes %q", got)
	}
	wantText(t, doc, testid("name"), "P20260928204") // the page is the same but for that
	for _, bad := range []string{"x", "0", "-1", "99999999999"} {
		page(t, o.get(path+"?lives="+bad), http.StatusBadRequest)
		if bad != "99999999999" {
			page(t, o.get(path+"?attempts="+bad), http.StatusBadRequest)
		}
	}
	older1 := page(t, o.get(path+"?attempts=83"), http.StatusOK)
	wantNone(t, older1, `[sse-swap="attempts"]`) // an older page must not turn into the newest
}

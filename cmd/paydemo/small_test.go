package main

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCentsAreExact(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]Cents{
		"199.00": 19900, "0.01": 1, "0.1": 10, "5": 500, "-199.00": -19900, "99999999999.99": 9_999_999_999_999,
	} {
		got, err := parseCents(s)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "-", ".", ".5", "1.234", "1e3", "1,00", "٣", "--1", "1.-1", "100000000000", "+1", "NaN"} {
		if got, err := parseCents(s); err == nil {
			t.Errorf("%q became %d", s, got)
		}
	}
}

func FuzzCents(f *testing.F) {
	f.Add("199.00")
	f.Add("-0.10")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseCents(s)
		if err != nil {
			return
		}
		again, err := parseCents(c.String())
		if err != nil || again != c {
			t.Errorf("%q: %d, then %d, %v", s, c, again, err)
		}
	})
}

func TestAMessageReadsBack(t *testing.T) {
	t.Parallel()
	want := paySuccess{OrderNo: "P20260928001", UserID: 10086, Amount: 19900, PaidAt: time.Date(2026, 9, 28, 10, 0, 1, 0, time.UTC)}
	p, err := want.publishing()
	if err != nil {
		t.Fatal(err)
	}
	if s := string(p.Body); s != `{"orderNo":"P20260928001","userId":10086,"amount":199.00,"paidAt":"2026-09-28T10:00:01Z"}` {
		t.Errorf("body %s", s)
	}
	got, err := decodePaySuccess(p.Body)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if q, _ := want.publishing(); q.MessageId == p.MessageId {
		t.Error("two sendings have one message id")
	}
}

func TestTiers(t *testing.T) {
	t.Parallel()
	tiers, err := parseTiers("2s,3s,4s")
	if err != nil {
		t.Fatal(err)
	}
	if tiers[0].queue != "q.pay.dlx.wait.30s" || tiers[0].ttl != 2*time.Second || tiers[2].ttl != 4*time.Second {
		t.Errorf("tiers %+v", tiers)
	}
	for _, s := range []string{"", "1s", "1s,2s,3s,4s", "1s,2s,x", "1s,2s,-3s", "1s,2s,0s"} {
		if _, err := parseTiers(s); err == nil {
			t.Errorf("%q: accepted", s)
		}
	}
}

func TestTheStreamShowsEachFaultWithinItsFirstMinute(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for n := range 120 {
		o := scenario(n)
		switch {
		case o.fault != "":
			seen[o.fault]++
		case o.user != 0:
			seen["poor"]++
		case o.refund:
			seen["refund"]++
		case o.twice > 0:
			seen["twice"]++
		default:
			seen["good"]++
		}
	}
	for _, kind := range append([]string{"poor", "refund", "twice"}, faults...) {
		if seen[kind] == 0 {
			t.Errorf("no %s", kind)
		}
	}
	if seen["good"] < 70 || seen[faultCrashAfterKey] > 4 {
		t.Errorf("of 120 orders: %v", seen)
	}
}

func TestAFaultOfOnceHappensOnce(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	for _, name := range []string{controlCrash, orderControl("P1")} {
		if err := w.controls.set(t.Context(), name, faultCrashAfterKey); err != nil {
			t.Fatal(err)
		}
		if told, err := w.controls.once(t.Context(), "P1", faultCrashAfterCommit); told || err != nil {
			t.Errorf("another fault: %v, %v", told, err)
		}
		for _, want := range []bool{true, false} {
			if told, err := w.controls.once(t.Context(), "P1", faultCrashAfterKey); told != want || err != nil {
				t.Errorf("%s: %v, %v; want %v", name, told, err, want)
			}
		}
	}
	if told, err := w.controls.once(t.Context(), "P2", faultCrashAfterKey); told || err != nil {
		t.Errorf("another order: %v, %v", told, err)
	}
}

func TestWrongCommandLinesAreStatus2(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", "dance", "consume -guards redis,luck", "consume -tiers 1s", "consume -concurrency 0", "produce -rate 0",
		"produce -order P1", "produce -again", "produce -count 1 -fault bad_luck", "produce -twice 2", "topology -nonsense",
		"demo -name ../x", "demo -tiers 1s", "demo -rate 0",
	} {
		if err := run(t.Context(), strings.Fields(line)); status(err) != 2 {
			t.Errorf("paydemo %s: %v", line, err)
		}
	}
	if err := run(t.Context(), []string{"consume", "-h"}); !errors.Is(err, flag.ErrHelp) || status(err) != 0 {
		t.Errorf("help: %v", err)
	}
}

func TestTopologyIsDeclaredTwiceAndNotChanged(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	if err := declareTopology(w.v.URL, shortTiers()); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := declareTopology(w.v.URL, articleTiers()); err == nil {
		t.Error("other times: accepted")
	}
}

func TestSendingWithoutATopologyIsAnError(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.v.Manage(t, http.MethodDelete, "/api/queues/"+w.v.Name+"/"+queuePay, "")
	if _, err := w.producer.one(t.Context(), produceOptions{}); !errors.Is(err, errNoTopology) {
		t.Errorf("%v", err)
	}
}

// page posts a form, or gets where form is nil, and returns status and body.
func page(t *testing.T, w *town, path string, form url.Values, header ...string) (int, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if form != nil {
		req = httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	newWeb(w.pool, w.producer.sender, w.producer.log).handler().ServeHTTP(rec, req)
	body, _ := io.ReadAll(rec.Body)
	return rec.Code, string(body)
}

func TestThePageCausesAndMendsFaults(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	for _, tt := range []struct {
		path, form string
		want       int
	}{
		{"/set", "control=bank&value=down", http.StatusSeeOther},
		{"/set", "control=bank&value=asleep", http.StatusUnprocessableEntity},
		{"/set", "control=weather&value=rain", http.StatusUnprocessableEntity},
		{"/set", "control=crash&value=crash_after_key", http.StatusSeeOther},
		{"/top-up", "user=20001&amount=10.50", http.StatusSeeOther},
		{"/top-up", "user=20001&amount=-1.00", http.StatusUnprocessableEntity},
		{"/top-up", "user=1&amount=1.00", http.StatusUnprocessableEntity},
		{"/top-up", "user=x&amount=1.00", http.StatusUnprocessableEntity},
		{"/order", "user=20001&amount=199.00&fault=bank_timeout", http.StatusSeeOther},
		{"/order", "user=20001&amount=much", http.StatusUnprocessableEntity},
		{"/order", "fault=bad_luck", http.StatusUnprocessableEntity},
		{"/again", "order=P1", http.StatusUnprocessableEntity},
		{"/refund", "order=P1", http.StatusUnprocessableEntity},
	} {
		form, err := url.ParseQuery(tt.form)
		if err != nil {
			t.Fatal(err)
		}
		if code, body := page(t, w, tt.path, form); code != tt.want {
			t.Errorf("%s %s: %d %s", tt.path, tt.form, code, body)
		}
	}
	if n := w.v.Depth(t, queuePay); n != 1 {
		t.Errorf("%d messages were sent, want 1", n)
	}
	code, body := page(t, w, "/api/state", nil)
	var b book
	if err := json.Unmarshal([]byte(body), &b); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s: %v", code, body, err)
	}
	if b.Controls["bank"] != "down" || b.Controls["crash"] != faultCrashAfterKey || len(b.Orders) != 1 ||
		b.Orders[0].Fault != faultBankTimeout || b.Orders[0].Amount != "199.00" || b.Unbalanced != 0 {
		t.Errorf("state %+v", b)
	}
	code, body = page(t, w, "/?said=<b>", nil)
	if code != http.StatusOK || !strings.Contains(body, b.Orders[0].OrderNo) || strings.Contains(body, "<b>") {
		t.Errorf("page: %d\n%s", code, body)
	}
}

func TestThePageTakesNoFormsOfOtherSites(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	form := url.Values{"user": {"20001"}, "amount": {"10.00"}}
	if code, _ := page(t, w, "/top-up", form, "Sec-Fetch-Site", "cross-site"); code != http.StatusForbidden {
		t.Errorf("status %d", code)
	}
	if code, _ := page(t, w, "/top-up", form, "Sec-Fetch-Site", "same-origin"); code != http.StatusSeeOther {
		t.Errorf("its own form: status %d", code)
	}
}

func TestChildrenAreToldNothingOfOurs(t *testing.T) {
	t.Parallel()
	got := withoutDLO([]string{"PATH=/bin", "DLO_DATABASE_URL=x", "DLOX=1", "DLO_TEST_REDIS_URL=x"})
	if diff := cmp.Diff([]string{"PATH=/bin", "DLOX=1"}, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if os.Getenv("PATH") == "" {
		t.Error("the test's own environment was changed")
	}
}

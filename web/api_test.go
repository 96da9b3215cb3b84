package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

var described = sync.OnceValues(func() (routers.Router, error) {
	raw, err := openAPI(links{})
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, err
	}
	return gorillamux.NewRouter(doc)
})

// asDescribed fails unless the answer is what the API's description promises.
func asDescribed(t *testing.T, method, path string, w *httptest.ResponseRecorder) {
	t.Helper()
	router, err := described()
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(context.Background(), method, path, nil)
	route, params, err := router.FindRoute(r)
	if err != nil {
		t.Fatalf("%s %s is not described: %v", method, path, err)
	}
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 w.Code, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		t.Errorf("%s %s answers %d not as described: %v\n%s", method, path, w.Code, err, w.Body)
	}
}

// call asks, checks the answer against the description and returns it decoded.
func (o office) call(t *testing.T, method, path, body string, status int) map[string]any {
	t.Helper()
	w := o.json(method, path, body)
	if w.Code != status {
		t.Fatalf("%s %s answers %d, want %d: %s", method, path, w.Code, status, w.Body)
	}
	asDescribed(t, method, path, w)
	out := map[string]any{}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

const v1 = "/api/v1"

func TestTheDescriptionHasEveryRouteAndNoOther(t *testing.T) {
	t.Parallel()
	raw, err := openAPI(links{base: "/dlo"})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	if got := doc.Servers[0].URL; got != "/dlo/api/v1" {
		t.Errorf("the server is %q", got)
	}
	have := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			have[method+" "+path] = true
		}
	}
	want := map[string]bool{}
	for _, r := range newOffice(t).apiRoutes() {
		path := strings.TrimPrefix(r.path, v1)
		for _, param := range []string{"id", "name"} {
			path = strings.ReplaceAll(path, ":"+param, "{"+param+"}")
		}
		want[r.method+" "+path] = true
		if !have[r.method+" "+path] {
			t.Errorf("%s %s is not described", r.method, path)
		}
	}
	for op := range have {
		if !want[op] {
			t.Errorf("%s is described and not there", op)
		}
	}
}

func TestReadingByTheAPI(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	paths := []string{
		"/sources", "/messages", "/messages?state=open&state=replayed&limit=2", "/messages?q=harbour&retries_min=1&retries_max=9&reason=rejected&source=pay-success",
		"/replays", "/replays/81", "/replays/81/items", "/replays/79/items", "/audit", "/audit?limit=1", "/openapi.json",
		"/keys?key=" + sample.KeyOf("P20260928001"), "/keys?key=" + url.QueryEscape(sample.KeyOf(sample.Hostile)),
	}
	for _, id := range sampleIDs {
		paths = append(paths, "/messages/"+id, "/messages/"+id+"/timeline")
		if id != sample.UnreadID {
			paths = append(paths, "/messages/"+id+"/preflight")
		}
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			o.call(t, http.MethodGet, v1+path, "", http.StatusOK)
		})
	}
}

func TestWhatIsNotKnownIsNull(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	m := o.call(t, http.MethodGet, v1+"/messages/"+sample.NoKeyID, "", http.StatusOK)
	for _, field := range []string{"business_key", "retry_count", "retry_count_source", "failure", "group", "content_encoding"} {
		if v, there := m[field]; !there || v != nil {
			t.Errorf("%s is %v (there: %v), want null", field, v, there)
		}
	}
	if _, there := m["quarantine"]; there {
		t.Error("quarantine stands on a message that is in none")
	}
	m = o.call(t, http.MethodGet, v1+"/messages/"+sample.BinaryID, "", http.StatusOK)
	if m["body_preview"] != nil {
		t.Errorf("a binary body has the preview %v", m["body_preview"])
	}
	if got := o.call(t, http.MethodGet, v1+"/messages/"+sample.QuarantinedID, "", http.StatusOK)["quarantine"]; got == nil {
		t.Error("a quarantined message does not say why")
	}
}

func TestHeadersKeepTheirTypes(t *testing.T) {
	t.Parallel()
	m := newOffice(t).call(t, http.MethodGet, v1+"/messages/"+sample.StaleID, "", http.StatusOK)
	h := m["headers"].(map[string]any)
	for name, want := range map[string]string{"x-retry-count": `{"t":"I","v":"5"}`, "flags": `{"b64":"yv4=","t":"x"}`, "published-at": `{"t":"T","v":"1790534357"}`} {
		if got, _ := json.Marshal(h[name]); string(got) != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestAListIsPagedByItsCursor(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	first := o.call(t, http.MethodGet, v1+"/messages?limit=7", "", http.StatusOK)
	if n := len(first["items"].([]any)); n != 7 || first["next_cursor"] != "next" {
		t.Fatalf("%d items, next cursor %v", n, first["next_cursor"])
	}
	second := o.call(t, http.MethodGet, v1+"/messages?limit=7&cursor=next", "", http.StatusOK)
	if second["next_cursor"] != nil {
		t.Errorf("the last page has the next cursor %v", second["next_cursor"])
	}
	if total := first["total"].(map[string]any); total["count"] != 15.0 || total["exact"] != true {
		t.Errorf("total is %v", total)
	}
}

func TestTheExactBytesAreDownloadedAsAFile(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, prefix := range []string{"", v1} {
		w := o.get(prefix + "/messages/" + sample.BinaryID + "/body")
		if w.Code != http.StatusOK || w.Body.String() != "\x00\x01\xff binary \x7f" {
			t.Errorf("%s: answer is %d %q", prefix, w.Code, w.Body)
		}
		want := `attachment; filename="` + sample.BinaryID + `.bin"`
		if got := w.Header().Get("Content-Disposition"); got != want {
			t.Errorf("%s: disposition is %q, want %q", prefix, got, want)
		}
		if got := w.Header().Get("Content-Type"); got != "application/octet-stream" {
			t.Errorf("%s: content type is %q", prefix, got)
		}
	}
	wantCode(t, o.get(v1+"/messages/"+sample.BinaryID+"/body?round=0"), http.StatusBadRequest, "bad_query")
	wantCode(t, o.get(v1+"/messages/"+sample.BinaryID+"/body?round=2"), http.StatusNotFound, "not_found")
}

func TestARequestThatCannotBeTakenNamesTheField(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	message := v1 + "/messages/" + sample.StaleID
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		code, field              string
	}{
		{"an unknown field", "POST", message + "/replay", `{"reason":"r","why":1}`, 400, "bad_request", "why"},
		{"an unknown field further in", "POST", message + "/replay", `{"reason":"r","release_keys":[{"kex":"x"}]}`, 400, "bad_request", "kex"},
		{"a wrong type", "POST", message + "/replay", `{"reason":5}`, 422, "invalid", "reason"},
		{"a wrong type further in", "POST", v1 + "/messages/discard", `{"selection":{"ids":"x"},"reason":"r"}`, 422, "invalid", "selection.ids"},
		{"no reason", "POST", message + "/replay", `{}`, 422, "invalid", "reason"},
		{"a reason of spaces", "POST", message + "/replay", `{"reason":"  "}`, 422, "invalid", "reason"},
		{"a reason that is too long", "POST", message + "/replay", `{"reason":"` + strings.Repeat("x", 501) + `"}`, 422, "invalid", "reason"},
		{"an empty note", "POST", message + "/notes", `{"text":""}`, 422, "invalid", "text"},
		{"no selection", "POST", v1 + "/preflight", `{}`, 422, "invalid", "selection"},
		{"two selections", "POST", v1 + "/preflight", `{"selection":{"ids":["x"],"query":"y"}}`, 422, "invalid", "selection"},
		{"an empty query to discard", "POST", v1 + "/messages/discard", `{"selection":{"query":""},"reason":"r"}`, 422, "invalid", "selection.query"},
		{"a blank query to discard", "POST", v1 + "/messages/discard", `{"selection":{"query":" \t "},"reason":"r"}`, 422, "invalid", "selection.query"},
		{"a quoted blank query to restore", "POST", v1 + "/messages/restore", `{"selection":{"query":"\" \""},"reason":"r"}`, 422, "invalid", "selection.query"},
		{"an empty quotation to restore", "POST", v1 + "/messages/restore", `{"selection":{"query":"\"\""},"reason":"r"}`, 422, "invalid", "selection.query"},
		{"an empty query to look ahead", "POST", v1 + "/preflight", `{"selection":{"query":""}}`, 422, "invalid", "selection.query"},
		{"no ids", "POST", v1 + "/messages/discard", `{"selection":{"ids":[]},"reason":"r"}`, 422, "invalid", "selection.ids"},
		{"an empty id", "POST", v1 + "/preflight", `{"selection":{"ids":["x",""]}}`, 422, "invalid", "selection.ids"},
		{"no ids and a query", "POST", v1 + "/preflight", `{"selection":{"ids":[],"query":"y"}}`, 422, "invalid", "selection"},
		{"an override that is no verdict", "POST", message + "/replay", `{"reason":"r","override":["always"]}`, 422, "invalid", "override"},
		{"a pause without a reason", "POST", v1 + "/sources/points/pause", `{"reason":" "}`, 422, "invalid", "reason"},
		{"a pause without a body", "POST", v1 + "/sources/points/pause", "", 422, "invalid", "reason"},
		{"a confirmation without a reason", "POST", v1 + "/sources/points/confirm", `{}`, 422, "invalid", "reason"},
		{"a resumption without a reason", "POST", v1 + "/sources/points/resume", `{}`, 422, "invalid", "reason"},
		{"a parameter that is none", "GET", v1 + "/messages?stat=open", "", 400, "bad_query", "stat"},
		{"a parameter of another operation", "GET", v1 + "/replays?state=open", "", 400, "bad_query", "state"},
		{"a parameter of a page", "GET", v1 + "/audit?before=3", "", 400, "bad_query", "before"},
		{"a parameter where there is none", "POST", v1 + "/messages/discard?reason=r", `{}`, 400, "bad_query", "reason"},
		{"a source that is none", "GET", v1 + "/messages?source=pay-sucess", "", 400, "bad_query", "source"},
		{"retries upside down", "GET", v1 + "/messages?retries_min=5&retries_max=2", "", 400, "bad_query", "retries_min"},
		{"a limit that no number is", "GET", v1 + "/messages?limit=many", "", 400, "bad_query", "limit"},
		{"an outcome that is none", "POST", v1 + "/outcomes", `{"message_id":"m","replay_id":"1","outcome":"great"}`, 422, "invalid", "outcome"},
		{"a replay id that is none", "POST", v1 + "/outcomes", `{"message_id":"m","replay_id":"x","outcome":"processed"}`, 422, "invalid", "replay_id"},
		{"a settlement that is none", "POST", message + "/settle", `{"as":"maybe","reason":"r"}`, 422, "invalid", "as"},
		{"a state that is none", "GET", v1 + "/messages?state=shut", "", 400, "bad_query", "state"},
		{"a reason that is none", "GET", v1 + "/messages?reason=x", "", 400, "bad_query", "reason"},
		{"retries that are none", "GET", v1 + "/messages?retries_min=-1", "", 400, "bad_query", "retries_min"},
		{"a limit beyond the most", "GET", v1 + "/messages?limit=501", "", 400, "bad_query", "limit"},
		{"a limit of nothing", "GET", v1 + "/messages?limit=0", "", 400, "bad_query", "limit"},
		{"no key", "GET", v1 + "/keys", "", 400, "bad_query", "key"},
		{"a query of the language to come", "GET", v1 + "/messages?q=timeout+state:open", "", 400, "bad_query", "q"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := o.call(t, tt.method, tt.path, tt.body, tt.status)
			if p["code"] != tt.code || p["field"] != tt.field || !strings.Contains(p["detail"].(string), tt.field) {
				t.Errorf("problem is %v, want code %s of field %s", p, tt.code, tt.field)
			}
		})
	}
	if got := o.call(t, "GET", v1+"/messages?q="+url.QueryEscape("银行 state:open"), "", 400)["position"]; got != 4.0 {
		t.Errorf("position is %v, want 4", got)
	}
}

func TestALimitBeyondTheMostSaysWhatTheMostIs(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"100000", "0", "99999999999999999999"} {
		p := newOffice(t).call(t, "GET", v1+"/messages?limit="+n, "", http.StatusBadRequest)
		if want := "limit: " + n + " is not between 1 and 500"; p["detail"] != want {
			t.Errorf("the detail is %q, want %q", p["detail"], want)
		}
	}
}

func TestARefusedReplaySaysWhatWouldLetItGo(t *testing.T) {
	t.Parallel()
	for verdict, tt := range map[replay.Verdict]struct {
		after replay.Verdict
		want  string
	}{
		replay.NoKey:        {replay.NoKey, `add "override":["no_key"]`},
		replay.StaleKey:     {replay.WillRun, `add "release_keys" with the key and seen of preflight.releasable.`},
		replay.Unproven:     {replay.InProgress, `preflight.releasable and "override":["in_progress"].`},
		replay.Inconsistent: {replay.Inconsistent, "no request lets it go"},
	} {
		o := newOffice(t)
		o.replays.Err = &replay.NotSentError{Preflight: replay.Preflight{MessageID: "m", Verdict: verdict, Consent: replay.ConsentFor(verdict), AfterRelease: tt.after}}
		p := o.call(t, "POST", v1+"/messages/"+sample.StaleID+"/replay", `{"reason":"r"}`, http.StatusConflict)
		if got, _ := p["detail"].(string); !strings.Contains(got, tt.want) || !strings.Contains(got, "Nothing was sent") {
			t.Errorf("%s: the detail is %q, want %q in it", verdict, got, tt.want)
		}
	}
}

func TestMessagesAreFoundByTheTypeOfTheirFailure(t *testing.T) {
	t.Parallel()
	got := newOffice(t).call(t, "GET", v1+"/messages?type=AccountBalanceLow", "", http.StatusOK)
	items := got["items"].([]any)
	if len(items) != 1 || items[0].(map[string]any)["id"] != sample.DiscardedID {
		t.Errorf("the messages are %v", items)
	}
}

func TestWhatIsNoJSONIsMalformed(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, body := range []string{"", "  ", "{", `{"text":"a"} {"text":"b"}`, "text=hello", "\xff"} {
		wantCode(t, o.json("POST", v1+"/messages/"+sample.StaleID+"/notes", body), http.StatusBadRequest, "bad_request")
	}
	if len(o.store.Acts) != 0 {
		t.Errorf("%d notes were written", len(o.store.Acts))
	}
}

func TestReplayingByTheAPI(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	body := `{"reason":"bank is back","release_keys":[{"key":"k","seen":"s"}],"override":["no_key"],"route":"queue"}`
	got := o.call(t, "POST", v1+"/messages/"+sample.StaleID+"/replay", body, http.StatusOK)
	if got["replay_id"] != "82" || got["attempt"] != "sent" || got["outcome"] != "awaited" || got["outcome_source"] != nil {
		t.Errorf("answer is %v", got)
	}
	want := replay.Request{
		MessageID: sample.StaleID, Actor: "anna", From: "192.0.2.1", Reason: "bank is back", At: sample.Now,
		ReleaseKeys: []replay.Release{{Key: "k", Seen: "s"}}, Override: []replay.Verdict{replay.NoKey}, Route: replay.RouteQueue,
	}
	if len(o.replays.Requests) != 1 || fmt.Sprint(o.replays.Requests[0]) != fmt.Sprint(want) {
		t.Errorf("asked for %+v, want %+v", o.replays.Requests, want)
	}
}

func TestARefusedReplaySaysWhy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err    error
		status int
		code   string
	}{
		{dlq.ErrNotFound, 404, "not_found"},
		{dlq.ErrBadState, 409, "bad_state"},
		{&replay.ClaimLostError{MessageID: "m", By: "console-2", Since: sample.Now}, 409, "claim_lost"},
		{&replay.KeyChangedError{Key: "k", Result: keys.Reacquired}, 409, "key_changed"},
		{replay.ErrNoDestination, 409, "no_destination"},
		{&replay.NotSentError{Preflight: replay.Preflight{MessageID: "m", Verdict: replay.Inconsistent, Why: replay.WhyEffectNoState, Consent: replay.SentNever}}, 409, "not_sent"},
		{&replay.NotSentError{Preflight: replay.Preflight{MessageID: "m", Verdict: replay.Unknown, Consent: replay.SentNever}, Cause: keys.ErrUnavailable}, 503, "redis_unavailable"},
		{replay.ErrNotItsKey, 422, "not_its_key"},
		{replay.ErrNoReason, 422, "no_reason"},
		{replay.ErrBadRoute, 422, "bad_route"},
		{replay.ErrNoEvidence, 503, "probe_unavailable"},
		{keys.ErrBadSeen, 400, "bad_seen"},
		{keys.ErrUnavailable, 503, "redis_unavailable"},
		{rabbit.ErrUnavailable, 503, "broker_unavailable"},
		{context.DeadlineExceeded, 503, "timeout"},
		{io.ErrUnexpectedEOF, 500, "internal"},
	} {
		t.Run(tt.err.Error(), func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.replays.Err = fmt.Errorf("replay: m: %w", tt.err)
			p := o.call(t, "POST", v1+"/messages/"+sample.StaleID+"/replay", `{"reason":"r"}`, tt.status)
			if p["code"] != tt.code {
				t.Errorf("code is %v, want %s", p["code"], tt.code)
			}
			if pre, _ := p["preflight"].(map[string]any); strings.HasPrefix(tt.code, "not_sent") && pre["verdict"] != "inconsistent" {
				t.Errorf("the preflight is %v", p["preflight"])
			}
			doc := page(t, o.form("/messages/"+sample.StaleID+"/replay", "reason", "r"), tt.status)
			if got := doc.Find(testid("error")).AttrOr("data-code", ""); got != tt.code {
				t.Errorf("the page's code is %q, want %q", got, tt.code)
			}
		})
	}
}

func TestDiscardingBySelectionListsWhatBecameOfEach(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	body := fmt.Sprintf(`{"selection":{"ids":[%q,%q,"nope"]},"reason":"test"}`, sample.StaleID, sample.ResolvedID)
	got := o.call(t, "POST", v1+"/messages/discard", body, http.StatusOK)
	results := map[string]string{}
	for _, item := range got["items"].([]any) {
		m := item.(map[string]any)
		results[m["id"].(string)] = fmt.Sprint(m["result"], " ", m["state"])
	}
	want := map[string]string{sample.StaleID: "done discarded", sample.ResolvedID: "bad_state resolved", "nope": "not_found <nil>"}
	if fmt.Sprint(results) != fmt.Sprint(want) {
		t.Errorf("results are %v, want %v", results, want)
	}
	got = o.call(t, "POST", v1+"/messages/restore", `{"selection":{"query":"BANKSERIAL"},"reason":"test"}`, http.StatusOK)
	if n := len(got["items"].([]any)); n != 13 {
		t.Errorf("the query selects %d messages, want 13", n)
	}
}

func TestPreflightOfManyCountsVerdicts(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	body := fmt.Sprintf(`{"selection":{"ids":[%q,%q,%q]}}`, sample.StaleID, sample.WillRunID, sample.StaleID)
	got := o.call(t, "POST", v1+"/preflight", body, http.StatusOK)
	if got["total"] != 2.0 || fmt.Sprint(got["verdicts"]) != "map[stale_key:1 will_run:1]" {
		t.Errorf("counts are %v", got)
	}
}

func TestReleasingAKeyByTheAPI(t *testing.T) {
	t.Parallel()
	body := fmt.Sprintf(`{"key":%q,"seen":"s","reason":"dead consumer"}`, sample.KeyOf("P20260928001"))
	for result, want := range map[keys.ReleaseResult]string{
		keys.Released: "200 ", keys.Gone: "200 ", keys.Changed: "409 key_changed", keys.Reacquired: "409 key_changed",
		keys.WrongType: "409 key_changed", keys.Protected: "409 key_protected", keys.TooYoung: "409 key_too_young",
	} {
		t.Run(string(result), func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.replays.Result = result
			status := http.StatusOK
			if strings.HasPrefix(want, "409") {
				status = http.StatusConflict
			}
			got := o.call(t, "POST", v1+"/keys/release", body, status)
			code, _ := got["code"].(string)
			if fmt.Sprint(status, " ", code) != want || got["result"] != string(result) || got["before"].(map[string]any)["value"] != "1" {
				t.Errorf("answer is %d %v, want %s with result and before", status, got, want)
			}
		})
	}
}

func TestOutcomesNotesSettlementsAndPausesByTheAPI(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, id := range []string{`"82"`, `82`} {
		o.call(t, "POST", v1+"/outcomes", `{"message_id":"`+sample.StaleID+`","replay_id":`+id+`,"outcome":"processed","detail":null}`, http.StatusNoContent)
	}
	want := keys.Report{MessageID: sample.StaleID, ReplayID: "82", Outcome: "processed", At: sample.Now}
	if len(o.replays.Reports) != 2 || o.replays.Reports[0] != want || o.replays.Reports[1] != want {
		t.Errorf("reports are %+v", o.replays.Reports)
	}
	if got := o.call(t, "POST", v1+"/messages/"+sample.StaleID+"/notes", `{"text":" 你好 "}`, http.StatusCreated); got["text"] != "你好" {
		t.Errorf("the note is %v", got)
	}
	if got := o.call(t, "POST", v1+"/messages/"+sample.UnknownID+"/settle", `{"as":"not_sent","reason":"looked"}`, http.StatusOK); got["id"] != sample.UnknownID {
		t.Errorf("settled is %v", got)
	}
	if fmt.Sprint(o.replays.Settled) != "[false]" {
		t.Errorf("settlements are %v", o.replays.Settled)
	}
	o.call(t, "POST", v1+"/messages/"+sample.StaleID+"/settle", `{"as":"sent","reason":"looked"}`, http.StatusConflict)
	if got := o.call(t, "POST", v1+"/sources/pay-success/pause", `{"reason":"deploy"}`, http.StatusOK); got["state"] != "paused" || got["paused_by"] != "anna" {
		t.Errorf("the paused source is %v", got)
	}
	if got := o.call(t, "POST", v1+"/sources/pay-success/resume", `{"reason":"done"}`, http.StatusOK); got["state"] != "up" {
		t.Errorf("the resumed source is %v", got)
	}
	o.call(t, "POST", v1+"/sources/nope/pause", `{"reason":"r"}`, http.StatusNotFound)
	wantCode(t, o.json("POST", v1+"/sources/points/confirm", `{"reason":"r","hazards":["message_ttl=60000"]}`), http.StatusConflict, "new_hazard")
	wantCode(t, o.json("POST", v1+"/sources/pay-success/confirm", `{"reason":"r"}`), http.StatusConflict, "nothing_to_confirm")
	if got := o.call(t, "POST", v1+"/sources/points/confirm", `{"reason":"seen"}`, http.StatusOK); got["state"] != "paused" || got["confirmed_by"] != "anna" {
		t.Errorf("the confirmed source is %v", got)
	}
}

func TestWhatIsNotThereYetIsAProblemToo(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, path := range []string{"/groups", "/nope", "/alerts", "/export"} {
		wantCode(t, o.get(v1+path), http.StatusNotFound, "not_found")
	}
	wantCode(t, o.json("DELETE", v1+"/messages/"+sample.StaleID, ""), http.StatusMethodNotAllowed, "method_not_allowed")
	wantCode(t, newOffice(t, at("/dlo")).get("/dlo/api/v1/nope"), http.StatusNotFound, "not_found")
}

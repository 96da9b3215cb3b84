package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

func TestEveryAnswerCarriesTheSecurityHeaders(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, path := range []string{"/", "/nope", "/api/v1/messages", "/api/v1/nope", o.assets.url("app.js")} {
		h := o.get(path).Header()
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

func TestOnlyAssetsMayBeKept(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if got := o.get("/").Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("a page's Cache-Control is %q", got)
	}
	if got := o.get(o.assets.url("app.css")).Header().Get("Cache-Control"); !strings.Contains(got, "immutable") {
		t.Errorf("an asset's Cache-Control is %q", got)
	}
	if got := o.get("/static/000000000000/app.css").Header().Get("Cache-Control"); got != "no-cache" {
		t.Errorf("an asset under an old address has Cache-Control %q", got)
	}
	if w := o.get("/static/0/../server.go"); w.Code != http.StatusNotFound {
		t.Errorf("a file beside the assets answers %d", w.Code)
	}
}

func TestWhatAnotherSiteMakesABrowserSendIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		header  string
		value   string
		refused bool
	}{
		{"a form of another site", "Sec-Fetch-Site", "cross-site", true},
		{"a form of a sister site", "Sec-Fetch-Site", "same-site", true},
		{"an old browser's form of another site", "Origin", "https://evil.example", true},
		{"the console's own form", "Sec-Fetch-Site", "same-origin", false},
		{"the console's own form in an old browser", "Origin", "http://example.com", false},
		{"the console behind its external name", "Origin", "https://dlo.example", false},
		{"a program that is no browser", "", "", false},
	} {
		for _, path := range []string{"/messages/" + sample.StaleID + "/notes", "/api/v1/messages/" + sample.StaleID + "/notes"} {
			t.Run(tt.name+" to "+path, func(t *testing.T) {
				t.Parallel()
				o := newOffice(t, func(o *Options) { o.ExternalURL = "https://dlo.example" })
				body, kind := "text=hello", "application/x-www-form-urlencoded"
				if strings.HasPrefix(path, "/api") {
					body, kind = `{"text":"hello"}`, "application/json"
				}
				r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, path, strings.NewReader(body))
				r.Header.Set("Content-Type", kind)
				if tt.header != "" {
					r.Header.Set(tt.header, tt.value)
				}
				if w := o.do(r); (w.Code == http.StatusForbidden) != tt.refused {
					t.Errorf("answer is %d, refused should be %v: %s", w.Code, tt.refused, w.Body)
				}
				if written := len(o.store.Acts) > 0; written == tt.refused {
					t.Errorf("a note was written: %v", written)
				}
			})
		}
	}
}

func TestWithoutAuthenticationOnlyTheConsolesOwnNamesAreAnswered(t *testing.T) {
	t.Parallel()
	for host, known := range map[string]bool{
		"localhost:8080": true, "127.0.0.1:8080": true, "[::1]:8080": true, "127.9.9.9": true, "LOCALHOST": true,
		"dlo.example": true, "dlo.example:8443": true, "evil.example": false, "localhost.evil.example": false, "192.0.2.7:8080": false, "": false,
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, func(o *Options) { o.AuthOff, o.ExternalURL = true, "https://dlo.example:8443" })
			r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil)
			r.Host = host
			if w := o.do(r); (w.Code == http.StatusOK) != known {
				t.Errorf("host %q answers %d, known should be %v", host, w.Code, known)
			}
			o.AuthOff = false
			if w := o.do(r); w.Code != http.StatusOK {
				t.Errorf("with authentication host %q answers %d", host, w.Code)
			}
		})
	}
}

// exploding panics with a secret wherever it is asked.
type exploding struct{ *sample.Store }

func (exploding) Message(context.Context, string) (dlq.Message, error) { panic("s3cret of the stack") }

func (exploding) List(context.Context, dlq.Filter) (dlq.Page, error) {
	return dlq.Page{}, fmt.Errorf("dlq: list: dial postgres://u:s3cret@db: %w", context.Canceled)
}

func TestTheConsolesOwnFaultsStayInItsLog(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/messages/x", "/api/v1/messages/x", "/messages", "/api/v1/messages"} {
		o := newOffice(t, func(o *Options) { o.Messages = exploding{sample.NewStore()} })
		w := o.get(path)
		if w.Code != http.StatusInternalServerError {
			t.Errorf("%s answers %d, want 500", path, w.Code)
		}
		if strings.Contains(w.Body.String(), "s3cret") || strings.Contains(w.Body.String(), ".go:") {
			t.Errorf("%s shows the cause: %s", path, w.Body)
		}
		id := w.Header().Get("X-Request-Id")
		if id == "" || !strings.Contains(w.Body.String(), id) {
			t.Errorf("%s does not name the request %q", path, id)
		}
		if path == "/messages/x" && (!strings.Contains(o.log.String(), id) || !strings.Contains(o.log.String(), "s3cret") || strings.Count(o.log.String(), "level=ERROR") != 1) {
			t.Errorf("the log does not have the cause once: %s", o.log)
		}
	}
}

func TestARequestThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	large := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	wantCode(t, o.json(http.MethodPost, "/api/v1/messages/"+sample.StaleID+"/notes", large), http.StatusRequestEntityTooLarge, "too_large")
	page(t, o.form("/messages/"+sample.StaleID+"/notes", "text", large), http.StatusRequestEntityTooLarge)
}

func TestAnActIsAuditedWithWhoAndWhereFrom(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	w := o.form("/messages/discard", "id", sample.StaleID, "reason", " test message ")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/messages/"+sample.StaleID {
		t.Fatalf("answer is %d to %q", w.Code, w.Header().Get("Location"))
	}
	want := dlq.Act{Actor: "anna", From: "192.0.2.1", Reason: "test message", At: sample.Now}
	if len(o.store.Acts) != 1 || o.store.Acts[0] != want {
		t.Errorf("acts are %+v, want %+v", o.store.Acts, want)
	}
}

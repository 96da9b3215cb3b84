package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/seed-d2bf649b/dead-letter-office/internal/auth"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

// office is a server over sample data, with what stands behind it.
type office struct {
	*Server
	store   *sample.Store
	replays *sample.Replays
	sources *sample.Sources
	log     *bytes.Buffer
}

var anna = auth.Actor{Name: "anna", Roles: []auth.Role{auth.Operator}}

func newOffice(t *testing.T, change ...func(*Options)) office {
	t.Helper()
	o := office{store: sample.NewStore(), sources: sample.NewSources(), log: &bytes.Buffer{}}
	o.replays = &sample.Replays{Store: o.store}
	options := Options{
		Messages: o.store, Sources: o.sources, Replays: o.replays, Audit: sample.Log{}, Reimports: o.store, Spaces: sample.Spaces,
		Runbooks:    map[string]string{"pay-success": "https://runbooks.example/pay"},
		Environment: Environment{Name: sample.Hostile, Color: "red"}, Effective: sample.Effective + sample.Hostile,
		Actor: func(*http.Request) (auth.Actor, error) { return anna, nil },
		Now:   func() time.Time { return sample.Now },
		Log:   slog.New(slog.NewTextHandler(o.log, nil)),
	}
	for _, c := range change {
		c(&options)
	}
	var err error
	if o.Server, err = New(options); err != nil {
		t.Fatal(err)
	}
	return o
}

func as(roles ...auth.Role) func(*Options) {
	return func(o *Options) {
		o.Actor = func(*http.Request) (auth.Actor, error) { return auth.Actor{Name: "some", Roles: roles}, nil }
	}
}

var errNobody = errors.New("no credentials")

func asNobody(o *Options) {
	o.Actor = func(*http.Request) (auth.Actor, error) { return auth.Actor{}, errNobody }
}

func at(base string) func(*Options) { return func(o *Options) { o.BasePath = base } }

func (o office) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	o.ServeHTTP(w, r)
	return w
}

func (o office) get(path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return o.do(r)
}

func (o office) form(path string, pairs ...string) *httptest.ResponseRecorder {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, path, strings.NewReader(v.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return o.do(r)
}

func (o office) json(method, path, body string) *httptest.ResponseRecorder {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(context.Background(), method, path, reader)
	r.Header.Set("Content-Type", "application/json")
	return o.do(r)
}

// page parses an answer that must have the status.
func page(t *testing.T, w *httptest.ResponseRecorder, status int) *goquery.Document {
	t.Helper()
	if w.Code != status {
		t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// text is what stands in the parts of a page that selector finds, in one line.
func text(doc *goquery.Document, selector string) string {
	return strings.Join(strings.Fields(doc.Find(selector).Text()), " ")
}

func testid(id string) string { return `[data-testid="` + id + `"]` }

func wantText(t *testing.T, doc *goquery.Document, selector, want string) {
	t.Helper()
	// Blocks stand side by side without a space, so spaces do not count.
	if got := text(doc, selector); !strings.Contains(dense(got), dense(want)) {
		t.Errorf("%s says %q, want %q in it", selector, got, want)
	}
}

func dense(s string) string { return strings.Join(strings.Fields(s), "") }

func wantNone(t *testing.T, doc *goquery.Document, selector string) {
	t.Helper()
	if n := doc.Find(selector).Length(); n > 0 {
		t.Errorf("%s is there %d times, want none", selector, n)
	}
}

func wantCode(t *testing.T, w *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), `"code":"`+code+`"`) {
		t.Errorf("answer is %d %s, want %d with code %s", w.Code, w.Body, status, code)
	}
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type is %q, want a problem document", got)
	}
}

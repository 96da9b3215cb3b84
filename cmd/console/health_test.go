package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// readyz asks once and returns status and body.
func readyz(r *readiness) (int, string) {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	return w.Code, w.Body.String()
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	down := errors.New("no answer")
	var database, broker error = nil, down
	r := newReadiness()
	r.always["postgres"] = func(context.Context) error { return database }
	r.once["broker"] = func(context.Context) error { return broker }

	steps := []struct {
		name             string
		database, broker error
		want             int
		says             string
	}{
		{"a broker that never answered keeps it unready", nil, down, 503, `"broker":"no answer"`},
		{"ready once all answered", nil, nil, 200, `"ready":true`},
		{"a broker that goes away later does not matter", nil, down, 200, `"broker":"ok"`},
		{"the database always matters", down, nil, 503, `"postgres":"no answer"`},
		{"and comes back", nil, nil, 200, `"ready":true`},
	}
	for _, s := range steps {
		database, broker = s.database, s.broker
		code, body := readyz(r)
		if code != s.want || !strings.Contains(body, s.says) {
			t.Errorf("%s: %d %s, want %d with %s", s.name, code, body, s.want, s.says)
		}
	}
	r.stop()
	if code, body := readyz(r); code != 503 || !strings.Contains(body, "shutting down") {
		t.Errorf("during shutdown: %d %s, want 503", code, body)
	}
}

func TestGateAnswersUntilTheConsoleCanServe(t *testing.T) {
	t.Parallel()
	g := &gate{why: func() string { return "the database does not answer" }}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/messages", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the database does not answer") {
		t.Errorf("closed gate: %d %s", w.Code, w.Body)
	}
	g.set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	w = httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/messages", nil))
	if w.Code != http.StatusTeapot {
		t.Errorf("open gate: %d, want the handler's own answer", w.Code)
	}
}

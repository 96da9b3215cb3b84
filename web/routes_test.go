package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/auth"
)

func TestEveryRouteOfEchoIsInTheTableWithItsPermission(t *testing.T) {
	t.Parallel()
	o := newOffice(t, at("/dlo"))
	table := map[string]bool{"GET /dlo": true} // the redirect to the mounted root
	for _, r := range o.routes() {
		table[r.method+" "+o.links.base+r.path] = true
		if r.needs == public && !slices.Contains([]string{"/preferences", "/static/:hash/*"}, r.path) {
			t.Errorf("%s %s asks for no permission", r.method, r.path)
		}
	}
	for _, r := range o.echo.Routes() {
		if !table[r.Method+" "+r.Path] {
			t.Errorf("%s %s is not in the table", r.Method, r.Path)
		}
	}
}

// TestEveryRouteForEveryRole asks for each route as each role: what the role
// does not grant is a 403, whatever else is wrong with the request.
func TestEveryRouteForEveryRole(t *testing.T) {
	t.Parallel()
	roles := map[string]auth.Actor{
		"viewer":   {Roles: []auth.Role{auth.Viewer}},
		"operator": {Roles: []auth.Role{auth.Operator}},
		"reporter": {Roles: []auth.Role{auth.Reporter}},
		"no role":  {},
	}
	path := strings.NewReplacer(":id", "nothing", ":name", "nothing", ":hash", "0", "*", "app.js")
	for name, actor := range roles {
		o := newOffice(t, as(actor.Roles...))
		for _, r := range o.routes() {
			w := o.do(gone(r.method, path.Replace(r.path)))
			allowed := r.needs == public || actor.May(r.needs)
			if forbidden := w.Code == http.StatusForbidden; forbidden == allowed {
				t.Errorf("%s: %s %s answers %d, allowed is %v", name, r.method, r.path, w.Code, allowed)
			}
		}
	}
}

// gone is a request whose sender has left, so that a stream ends at once.
func gone(method, path string) *http.Request {
	ctx, leave := context.WithCancel(context.Background())
	leave()
	return httptest.NewRequestWithContext(ctx, method, path, nil)
}

func TestARequestOfNobodyIsAskedWhoItIs(t *testing.T) {
	t.Parallel()
	o := newOffice(t, asNobody)
	wantCode(t, o.get("/api/v1/messages"), http.StatusUnauthorized, "unauthenticated")
	doc := page(t, o.get("/"), http.StatusUnauthorized)
	wantText(t, doc, testid("error"), "Who are you?")
	if w := o.get(o.assets.url("app.css")); w.Code != http.StatusOK {
		t.Errorf("the style sheet answers %d, want it for everybody", w.Code)
	}
}

func TestReleasingAsPartOfAReplayNeedsItsOwnPermission(t *testing.T) {
	t.Parallel()
	// No role of today grants one without the other, so the check is asked
	// directly.
	if (auth.Actor{Roles: []auth.Role{auth.Viewer}}).May(auth.Release) {
		t.Fatal("a viewer may release")
	}
	o := newOffice(t, as(auth.Viewer))
	w := o.form("/messages/x/release", "reason", "r")
	page(t, w, http.StatusForbidden)
	if len(o.replays.Requests) != 0 {
		t.Errorf("%d replays were asked for", len(o.replays.Requests))
	}
}

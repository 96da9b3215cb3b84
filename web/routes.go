package web

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/seed-d2bf649b/dead-letter-office/internal/auth"
)

// public marks the few routes that ask for no permission: assets and the
// reader's own preferences.
const public auth.Permission = ""

// maxRequestBody bounds what a form or a JSON document may bring.
const maxRequestBody = "1M"

// route is one line of the table from which every route is registered: there
// is no other way to add one, so none is without its permission.
type route struct {
	method, path string
	needs        auth.Permission
	handle       echo.HandlerFunc
}

// apiRoot is where the API begins, below the base path.
const apiRoot = "/api/v1"

const get, post = http.MethodGet, http.MethodPost

func (s *Server) routes() []route {
	return append(s.pageRoutes(), s.apiRoutes()...)
}

func (s *Server) pageRoutes() []route {
	return []route{
		{get, "/", auth.Read, s.overview},
		{get, "/messages", auth.Read, s.listMessages},
		{get, "/messages/discard", auth.Discard, s.confirmDiscard},
		{post, "/messages/discard", auth.Discard, s.discard},
		{get, "/messages/restore", auth.Discard, s.confirmRestore},
		{post, "/messages/restore", auth.Discard, s.restore},
		{get, "/messages/reimport", auth.Replay, s.confirmReimport},
		{post, "/messages/reimport", auth.Replay, s.reimport},
		{get, "/messages/:id", auth.Read, s.showMessage},
		{get, "/messages/:id/body", auth.Read, s.downloadBody},
		{http.MethodHead, "/messages/:id/body", auth.Read, s.downloadBody},
		{post, "/messages/:id/notes", auth.Note, s.addNote},
		{get, "/messages/:id/not_a_copy", auth.Replay, s.confirmNotACopy},
		{post, "/messages/:id/not_a_copy", auth.Replay, s.notACopy},
		{get, "/messages/:id/replay", auth.Replay, s.confirmReplay},
		{post, "/messages/:id/replay", auth.Replay, s.replay},
		{get, "/messages/:id/release", auth.Release, s.confirmReleaseReplay},
		{post, "/messages/:id/release", auth.Release, s.releaseReplay},
		{post, "/messages/:id/original", auth.Replay, s.setOriginal},
		{get, "/messages/:id/settle", auth.Replay, s.confirmSettle},
		{post, "/messages/:id/settle", auth.Replay, s.settle},
		{get, "/replays", auth.Read, s.listReplays},
		{get, "/replays/:id", auth.Read, s.showReplay},
		{get, "/keys", auth.Read, s.showKeys},
		{get, "/keys/release", auth.Release, s.confirmRelease},
		{post, "/keys/release", auth.Release, s.releaseKey},
		{get, "/sources", auth.Read, s.showSources},
		{get, "/sources/:name/pause", auth.Operate, s.confirmPause},
		{post, "/sources/:name/pause", auth.Operate, s.pauseSource},
		{get, "/sources/:name/resume", auth.Operate, s.confirmResume},
		{post, "/sources/:name/resume", auth.Operate, s.resumeSource},
		{get, "/sources/:name/confirm", auth.Operate, s.confirmHazards},
		{post, "/sources/:name/confirm", auth.Operate, s.confirmedHazards},
		{get, "/audit", auth.Read, s.showAudit},
		{get, "/events", auth.Read, s.events},
		{post, "/preferences", public, s.savePreference},
		{get, "/static/:hash/*", public, s.static},
	}
}

func (s *Server) apiRoutes() []route {
	const v1 = apiRoot
	return []route{
		{get, v1 + "/sources", auth.Read, s.apiSources},
		{post, v1 + "/sources/:name/pause", auth.Operate, s.apiPause},
		{post, v1 + "/sources/:name/resume", auth.Operate, s.apiResume},
		{post, v1 + "/sources/:name/confirm", auth.Operate, s.apiConfirm},
		{get, v1 + "/messages", auth.Read, s.apiMessages},
		{post, v1 + "/messages/discard", auth.Discard, s.apiDiscard},
		{post, v1 + "/messages/restore", auth.Discard, s.apiRestore},
		{post, v1 + "/messages/reimport", auth.Replay, s.apiReimportMany},
		{get, v1 + "/messages/:id", auth.Read, s.apiMessage},
		{get, v1 + "/messages/:id/body", auth.Read, s.downloadBody},
		{http.MethodHead, v1 + "/messages/:id/body", auth.Read, s.downloadBody},
		{get, v1 + "/messages/:id/timeline", auth.Read, s.apiTimeline},
		{get, v1 + "/messages/:id/preflight", auth.Read, s.apiPreflight},
		{post, v1 + "/messages/:id/replay", auth.Replay, s.apiReplay},
		{post, v1 + "/messages/:id/settle", auth.Replay, s.apiSettle},
		{post, v1 + "/messages/:id/original", auth.Replay, s.apiSetOriginal},
		{post, v1 + "/messages/:id/reimport", auth.Replay, s.apiReimport},
		{post, v1 + "/messages/:id/not_a_copy", auth.Replay, s.apiNotACopy},
		{post, v1 + "/messages/:id/notes", auth.Note, s.apiAddNote},
		{post, v1 + "/preflight", auth.Read, s.apiPreflightMany},
		{get, v1 + "/replays", auth.Read, s.apiReplays},
		{get, v1 + "/replays/:id", auth.Read, s.apiReplayed},
		{get, v1 + "/replays/:id/items", auth.Read, s.apiReplayItems},
		{get, v1 + "/keys", auth.Read, s.apiKey},
		{post, v1 + "/keys/release", auth.Release, s.apiReleaseKey},
		{post, v1 + "/outcomes", auth.Report, s.apiOutcome},
		{get, v1 + "/audit", auth.Read, s.apiAudit},
		{get, v1 + "/openapi.json", auth.Read, s.apiDocument},
	}
}

// router puts the table behind what every request passes: an id, one log line,
// recovery, the security headers, the host and origin checks, the limit.
func (s *Server) router() (*echo.Echo, error) {
	guards, err := s.crossOrigin()
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.HTTPErrorHandler = s.fail
	e.Use(s.identify, s.accessLog, s.recoverPanics, s.securityHeaders, s.checkHost, guards,
		middleware.BodyLimit(maxRequestBody))
	if s.links.base != "" {
		e.GET(s.links.base, s.toOverview, s.permit(public))
	}
	for _, r := range s.pageRoutes() {
		e.Add(r.method, s.links.base+r.path, r.handle, s.permit(r.needs))
	}
	names, err := queryNames()
	if err != nil {
		return nil, err
	}
	for _, r := range s.apiRoutes() {
		e.Add(r.method, s.links.base+r.path, r.handle, s.permit(r.needs), onlyDescribed(names[operation(r)]))
	}
	return e, nil
}

// operation is what the API's description calls r, as "GET /messages/{id}".
func operation(r route) string {
	parts := strings.Split(strings.TrimPrefix(r.path, apiRoot), "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return r.method + " " + strings.Join(parts, "/")
}

func (s *Server) toOverview(c echo.Context) error {
	return c.Redirect(http.StatusMovedPermanently, s.links.overview())
}

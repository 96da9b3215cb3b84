package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// errorPage stands where a page would: what happened, what was not done, what
// to do.
type errorPage struct {
	frame
	Status int
	Code   string
	Empty  emptyState
	ID     string
	Detail string
	Meet   *meetPanel
}

var failLooks = map[int]look{
	http.StatusUnauthorized:        {"lock", "grey"},
	http.StatusForbidden:           {"lock", "grey"},
	http.StatusNotFound:            {"unknown", "grey"},
	http.StatusConflict:            {"key", "amber"},
	http.StatusServiceUnavailable:  {"unknown", "violet"},
	http.StatusInternalServerError: {"x", "red"},
}

func (s *Server) failPage(c echo.Context, f failure, err error) error {
	p := errorPage{frame: s.frame(c, "", ""), Status: f.status, Code: f.code, ID: requestID(c)}
	l, ok := failLooks[f.status]
	if !ok {
		l = look{"no", "amber"}
	}
	p.Title = p.T("error." + f.code)
	p.Empty = emptyState{l.icon, l.tone, p.Title, plain(p.T("problem." + f.code)), nil}
	if b, ok := asBad(err); ok {
		p.Detail = p.badly(b)
	}
	if fb := (forbidden{}); errors.As(err, &fb) {
		p.Empty.Text = p.S("error.forbidden_text", "Permission", strong(p.of("permission", string(fb.needs))), "Actor", strong(fb.actor.Name))
	}
	p.detailOf(err)
	if pre, ok := preflightOf(err); ok {
		p.Meet = s.meet(p.frame, pre, "")
	}
	p.Empty.Acts = p.wayOut(c, f)
	return render(c, f.status, errorView(p))
}

// detailOf adds what a refusal knows.
func (p *errorPage) detailOf(err error) {
	if changed := (*replay.KeyChangedError)(nil); errors.As(err, &changed) {
		p.Detail = p.of("release", string(changed.Result)) + ": " + changed.Key
	}
	if lost := (*replay.ClaimLostError)(nil); errors.As(err, &lost) {
		p.Detail = p.T("error.claimed_by", "By", lost.By, "Since", p.at(lost.Since).Text)
	}
}

// wayOut is where to go from here: back to what the act was about.
func (p *errorPage) wayOut(c echo.Context, f failure) []button {
	home := button{Text: p.T("error.home"), Href: p.overview()}
	id, reading := param(c, "id"), c.Request().Method == http.MethodGet
	switch {
	case f.status >= http.StatusInternalServerError && reading:
		return []button{{Text: p.T("error.again"), Href: p.Here}, home}
	case id != "" && f.status == http.StatusNotFound:
		return []button{{Text: p.T("error.search_audit"), Href: with(p.audit(), "object", "message "+id)}, home}
	case id != "":
		return []button{{Text: p.T("error.read_again"), Href: p.message(id)}, home}
	}
	return []button{home}
}

package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
)

// auditPage is who did what, newest first.
type auditPage struct {
	frame
	Object string
	Rows   []auditRow
	Empty  emptyState
	First  string
	Older  string
}

type auditRow struct {
	At            stamp
	Actor, From   string
	Act, Result   string
	Object, Href  string
	Reason        string
	OperationID   string
	OperationHref string
}

func (s *Server) showAudit(c echo.Context) error {
	f, err := auditFilter(c)
	if err != nil {
		return err
	}
	page, err := s.Audit.List(c.Request().Context(), f)
	if err != nil {
		return err
	}
	p := auditPage{frame: s.frame(c, "audit", ""), Object: f.Object}
	p.Title, p.Live = p.T("nav.audit"), p.events()
	p.Empty = emptyState{"book", "grey", p.T("audit.none"), plain(p.T("audit.none_text")), nil}
	for _, e := range page.Entries {
		p.Rows = append(p.Rows, p.auditRow(e))
	}
	here := with(p.audit(), "object", f.Object, "operation", f.OperationID)
	if f.Before != 0 {
		p.First = here
	}
	if page.Next != 0 {
		p.Older = with(p.audit(), "object", f.Object, "operation", f.OperationID, "before", fmt.Sprint(page.Next))
	}
	return render(c, http.StatusOK, auditView(p))
}

func auditFilter(c echo.Context) (audit.Filter, error) {
	f := audit.Filter{Object: strings.TrimSpace(c.QueryParam("object")), OperationID: c.QueryParam("operation")}
	for name, value := range map[string]string{"object": f.Object, "operation": f.OperationID} {
		if len(value) > maxKey+len("message ") || !isText([]byte(value)) {
			return f, badQuery(name, name+": is nothing that the audit could hold")
		}
	}
	var err error
	if f.Before, err = positionOf(c, "before"); err != nil {
		return f, err
	}
	f.Limit, err = limit(c.QueryParam("limit"))
	return f, err
}

func (f frame) auditRow(e audit.Entry) auditRow {
	row := auditRow{
		At: f.ago(e.At), Actor: e.Actor, From: e.From, Act: f.of("act_done", e.Act), Result: f.of("audit_result", e.Result),
		Object: e.Object, Href: f.objectLink(e.Object), Reason: e.Reason, OperationID: e.OperationID,
	}
	if e.OperationID != "" {
		row.OperationHref = with(f.audit(), "operation", e.OperationID)
	}
	return row
}

// objectLink returns the page of what an entry is about, "" where it has none.
func (f frame) objectLink(object string) string {
	kind, name, _ := strings.Cut(object, " ")
	switch kind {
	case "message":
		return f.message(name)
	case "key":
		return f.key(name)
	case "source":
		return f.source(name)
	case "replay":
		return f.to("replays", name)
	}
	return ""
}

package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// keyNamer knows messages by their business keys and the other way round.
type keyNamer interface {
	BusinessKeys(ctx context.Context, ids []string) (map[string]string, error)
	IDsOf(ctx context.Context, businessKey string) ([]string, error)
}

// auditPage is who did what, newest first.
type auditPage struct {
	frame
	Asked string
	Bound string // how far back a search looked
	Rows  []auditRow
	Empty emptyState
	First string
	Older string
}

type auditRow struct {
	At            stamp
	Actor, From   string
	Act, Result   string
	Object, Href  string
	Key           string // the business key of the message that it is about
	Reason        string
	OperationID   string
	OperationHref string
}

func (s *Server) showAudit(c echo.Context) error {
	f, err := auditFilter(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if f.Objects, err = s.objectsOf(ctx, f.Search); err != nil {
		return err
	}
	page, err := s.Audit.List(ctx, f)
	if err != nil {
		return err
	}
	p := auditPage{frame: s.frame(c, "audit", ""), Asked: cmp.Or(f.Search, f.Object)}
	p.Title, p.Live = p.T("nav.audit"), p.events()
	p.Empty = emptyState{"book", "grey", p.T("audit.none"), plain(p.T("audit.none_text")), nil}
	if f.Search != "" {
		p.Bound = p.T("audit.bound", "N", number(audit.Searched))
	}
	if f.Search != "" || f.Object != "" || f.OperationID != "" {
		p.Empty = emptyState{"search", "grey", p.T("audit.none_match"), plain(p.T("audit.none_match_text")), []button{{Text: p.T("filter.clear"), Href: p.audit()}}}
	}
	if p.Rows, err = s.auditRows(ctx, p.frame, page.Entries); err != nil {
		return err
	}
	here := with(p.audit(), "q", f.Search, "object", f.Object, "operation", f.OperationID)
	if f.Before != 0 {
		p.First = here
	}
	if page.Next != 0 {
		p.Older = with(p.audit(), "q", f.Search, "object", f.Object, "operation", f.OperationID, "before", fmt.Sprint(page.Next))
	}
	return render(c, http.StatusOK, auditView(p))
}

func auditFilter(c echo.Context) (audit.Filter, error) {
	f := audit.Filter{Search: strings.TrimSpace(c.QueryParam("q")), Object: strings.TrimSpace(c.QueryParam("object")), OperationID: c.QueryParam("operation")}
	for name, value := range map[string]string{"q": f.Search, "object": f.Object, "operation": f.OperationID} {
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

// objectsOf returns what entries may be about that a reader who writes text
// looks for: the object as it is, a message by its id, the messages of a
// business key.
func (s *Server) objectsOf(ctx context.Context, text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	ids, err := s.Messages.IDsOf(ctx, text)
	if err != nil {
		return nil, err
	}
	objects := []string{text}
	for _, id := range append(ids, text) {
		objects = append(objects, aboutMessage+id)
	}
	return append(objects, "key "+text, "source "+text), nil
}

// aboutMessage begins the object of an entry about a message.
const aboutMessage = "message "

// auditRows puts entries in words, with the business keys of their messages.
func (s *Server) auditRows(ctx context.Context, f frame, entries []audit.Entry) ([]auditRow, error) {
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutPrefix(e.Object, aboutMessage); ok {
			ids = append(ids, id)
		}
	}
	names, err := s.Messages.BusinessKeys(ctx, ids)
	if err != nil {
		return nil, err
	}
	rows := make([]auditRow, len(entries))
	for i, e := range entries {
		rows[i] = f.auditRow(e)
		rows[i].Key = names[strings.TrimPrefix(e.Object, aboutMessage)]
	}
	return rows, nil
}

// done are the results of acts that did what they say; with any other one the
// act was only tried.
var done = map[string]bool{
	audit.ResultDone: true, string(replay.Sent): true, string(keys.Released): true,
	replay.DetailSettledSent: true, replay.DetailSettledNot: true,
}

// acted says what an entry's actor did, or tried to do.
func (f frame) acted(e audit.Entry) string {
	if done[e.Result] || e.Act == audit.ActCorrect {
		return f.of("act_done", e.Act)
	}
	return f.of("act_tried", e.Act)
}

// resulted says what came of it: what a state did not allow depends on the act.
func (f frame) resulted(e audit.Entry) string {
	if id := "audit_result." + e.Result + "." + e.Act; f.has(id) {
		return f.T(id)
	}
	return f.of("audit_result", e.Result)
}

func (f frame) auditRow(e audit.Entry) auditRow {
	row := auditRow{
		At: f.ago(e.At), Actor: e.Actor, From: e.From, Act: f.acted(e), Result: f.resulted(e),
		Object: f.about(e.Object), Href: f.objectLink(e.Object), Reason: e.Reason, OperationID: e.OperationID,
	}
	if e.OperationID != "" {
		row.OperationHref = with(f.audit(), "operation", e.OperationID)
	}
	return row
}

// about says what an entry is about in the reader's language; names stay as
// they are.
func (f frame) about(object string) string {
	kind, name, _ := strings.Cut(object, " ")
	if id := "audit_object." + kind; f.has(id) {
		return f.T(id) + " " + name
	}
	return object
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

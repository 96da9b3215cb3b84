package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

func (s *Server) apiMessages(c echo.Context) error {
	f, err := s.selecting(c.Request().Context(), queryOf(c.QueryParams()))
	if err != nil {
		return err
	}
	page, err := s.Messages.List(c.Request().Context(), f)
	if err != nil {
		return err
	}
	items := make([]messageJSON, len(page.Messages))
	for i, m := range page.Messages {
		items[i] = newMessageJSON(m)
	}
	return ok(c, listOf(items, page.Next, &totalJSON{page.Total.N, page.Total.Exact}))
}

func (s *Server) apiMessage(c echo.Context) error {
	ctx := c.Request().Context()
	m, err := s.Messages.Message(ctx, param(c, "id"))
	if err != nil {
		return err
	}
	life, err := s.Messages.Life(ctx, m.ID, m.Round)
	if err != nil {
		return err
	}
	unit, err := s.Replays.Unit(ctx, m.ID, m.Round)
	if err != nil {
		return err
	}
	shape, err := newWholeMessageJSON(m, life, unit)
	if err != nil {
		return err
	}
	return ok(c, shape)
}

func (s *Server) apiAddNote(c echo.Context) error {
	var in struct {
		Text string `json:"text"`
	}
	if err := readJSON(c, &in); err != nil {
		return err
	}
	text, err := noteText(in.Text)
	if err != nil {
		return err
	}
	act := s.act(c, "")
	if err := s.Messages.AddNote(c.Request().Context(), param(c, "id"), text, act); err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, map[string]any{"at": timeOrNull(act.At), "actor": act.Actor, "text": text})
}

// selectionJSON is what an act on many is about: ids, or words that bodies
// have. It is frozen when the request is taken. What is empty or blank selects
// nothing: it is never taken for "all".
type selectionJSON struct {
	IDs   []string `json:"ids"`
	Query *string  `json:"query"`
}

// maxSelection bounds what one request acts on.
const maxSelection = 1000

func (s *Server) selected(ctx context.Context, sel *selectionJSON) ([]string, error) {
	switch {
	case sel == nil || sel.IDs == nil && sel.Query == nil:
		return nil, invalid("selection", `selection: give {"ids":[…]} or {"query":"…"}`)
	case sel.IDs != nil && sel.Query != nil:
		return nil, invalid("selection", "selection: ids or query, not both")
	case sel.Query == nil && len(sel.IDs) == 0:
		return nil, invalid("selection.ids", "selection.ids: is empty, and selects nothing")
	case slices.ContainsFunc(sel.IDs, isBlank):
		return nil, invalid("selection.ids", "selection.ids: an id is empty")
	case sel.Query != nil && isBlank(*sel.Query):
		return nil, invalid("selection.query", "selection.query: is empty, and selects nothing")
	case len(sel.IDs) > maxSelection:
		return nil, invalid("selection.ids", fmt.Sprintf("selection.ids: at most %d", maxSelection))
	case sel.Query == nil:
		ids := slices.Clone(sel.IDs)
		slices.Sort(ids)
		return slices.Compact(ids), nil
	}
	text, err := searchText(strings.TrimSpace(*sel.Query))
	if err != nil {
		return nil, err
	}
	if isBlank(text) { // it was quoted
		return nil, invalid("selection.query", "selection.query: is empty, and selects nothing")
	}
	return s.matching(ctx, dlq.Filter{Text: text, Limit: maxLimit, Now: s.Now()})
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// matching returns the ids of all that f selects.
func (s *Server) matching(ctx context.Context, f dlq.Filter) ([]string, error) {
	var ids []string
	for {
		page, err := s.Messages.List(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Messages {
			ids = append(ids, m.ID)
		}
		if len(ids) > maxSelection {
			return nil, invalid("selection.query", fmt.Sprintf("selection.query: selects more than %d messages; narrow it", maxSelection))
		}
		if page.Next == "" {
			return ids, nil
		}
		f.Cursor = page.Next
	}
}

type resultJSON struct {
	ID     string     `json:"id"`
	Result string     `json:"result"`
	State  *dlq.State `json:"state"`
	Why    *string    `json:"why,omitempty"`
}

func (s *Server) apiDiscard(c echo.Context) error { return s.apiMove(c, s.Messages.Discard) }
func (s *Server) apiRestore(c echo.Context) error { return s.apiMove(c, s.Messages.Restore) }

// apiMove answers with what became of each message; the status is 200 also
// where some were left alone.
func (s *Server) apiMove(c echo.Context, do mover) error {
	var in struct {
		Selection *selectionJSON `json:"selection"`
		Reason    string         `json:"reason"`
	}
	if err := readJSON(c, &in); err != nil {
		return err
	}
	reason, err := reasonOf(in.Reason)
	if err != nil {
		return err
	}
	ids, err := s.selected(c.Request().Context(), in.Selection)
	if err != nil {
		return err
	}
	results := []dlq.ActResult{}
	if len(ids) > 0 {
		if results, err = do(c.Request().Context(), ids, s.act(c, reason)); err != nil {
			return err
		}
	}
	items := make([]resultJSON, len(results))
	for i, r := range results {
		items[i] = resultJSON{r.ID, r.Result, orNull(r.State), orNull(r.Why)}
	}
	return ok(c, listOf(items, "", complete(items)))
}

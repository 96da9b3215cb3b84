package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// copyKeeper takes the mark of a possible copy off a message.
type copyKeeper interface {
	NotACopy(ctx context.Context, id string, a dlq.Act) error
}

// copiesPanel is what a message may be a copy of, or what may be one of it.
type copiesPanel struct {
	Text    string
	Rows    []copyRow
	Note    string  // that there may be more
	Not     *button // says that it is none
	Discard *button
}

type copyRow struct {
	ID, Href string
	State    mark
	Died     stamp
	Marked   string // that this one is marked
}

// copies is nil where there is nothing to say.
func (f frame) copies(m dlq.Message, found dlq.Lookalikes) *copiesPanel {
	if !m.PossibleCopy && len(found.Messages) == 0 {
		return nil
	}
	p := &copiesPanel{Text: f.T("copies.copied"), Rows: f.copyRows(found)}
	if !found.All {
		p.Note = f.T("copies.not_all")
	}
	if !m.PossibleCopy {
		return p
	}
	p.Text = f.T("copies.of")
	if len(p.Rows) == 0 {
		p.Text = f.T("copies.none")
	}
	if f.May("replay") {
		p.Not = &button{Text: f.T("act.not_a_copy"), Href: f.to("messages", m.ID, "not_a_copy"), Icon: "check"}
	}
	if f.May("discard") && m.State == dlq.Open {
		p.Discard = &button{Text: f.T("act.discard", "Name", nameOf(m)), Href: with(f.to("messages", "discard"), "id", m.ID), Icon: "archive"}
	}
	return p
}

func (f frame) copyRows(found dlq.Lookalikes) []copyRow {
	var rows []copyRow
	for _, m := range found.Messages {
		row := copyRow{ID: m.ID, Href: f.message(m.ID), State: f.state(m), Died: f.at(m.DiedAt)}
		if m.PossibleCopy {
			row.Marked = f.T("copies.marked")
		}
		rows = append(rows, row)
	}
	return rows
}

// nameOf is what people call a message: its business key, or its id.
func nameOf(m dlq.Message) string {
	if m.BusinessKey != "" {
		return m.BusinessKey
	}
	return m.ID
}

func (s *Server) confirmNotACopy(c echo.Context) error {
	m, err := s.Messages.Message(c.Request().Context(), param(c, "id"))
	if err != nil {
		return err
	}
	if !m.PossibleCopy {
		return dlq.ErrNotMarked
	}
	p := confirmPage{frame: s.frame(c, "messages", ""), Action: s.links.to("messages", m.ID, "not_a_copy"), Icon: "check"}
	p.Rows = []confirmRow{p.confirmRow(m)}
	p.Heading = p.T("confirm.not_a_copy", "Name", nameOf(m))
	p.Title, p.Button, p.Back = p.Heading, p.Heading, s.links.message(m.ID)
	p.Text = plain(p.T("confirm.not_a_copy_text"))
	return render(c, http.StatusOK, confirmView(p))
}

func (s *Server) notACopy(c echo.Context) error {
	if err := s.takeMarkOff(c, c.FormValue("reason")); err != nil {
		return err
	}
	return seeOther(c, s.links.message(param(c, "id")))
}

func (s *Server) apiNotACopy(c echo.Context) error {
	var in struct {
		Reason string `json:"reason"`
	}
	if err := readJSON(c, &in); err != nil {
		return err
	}
	if err := s.takeMarkOff(c, in.Reason); err != nil {
		return err
	}
	m, err := s.Messages.Message(c.Request().Context(), param(c, "id"))
	if err != nil {
		return err
	}
	return ok(c, newMessageJSON(m))
}

func (s *Server) takeMarkOff(c echo.Context, reason string) error {
	reason, err := reasonOf(reason)
	if err != nil {
		return err
	}
	return s.Messages.NotACopy(c.Request().Context(), param(c, "id"), s.act(c, reason))
}

// lookalikeJSON is one message with the same body, in a preflight.
type lookalikeJSON struct {
	ID           string    `json:"id"`
	State        dlq.State `json:"state"`
	PossibleCopy bool      `json:"possible_copy"`
}

func newLookalikesJSON(found dlq.Lookalikes) []lookalikeJSON {
	shapes := []lookalikeJSON{}
	for _, m := range found.Messages {
		shapes = append(shapes, lookalikeJSON{m.ID, m.State, m.PossibleCopy})
	}
	return shapes
}

// agreeToCopy puts on the page what has to be known before a possible copy is
// sent.
func (p *replayPage) agreeToCopy(pre replay.Preflight) {
	if !pre.PossibleCopy {
		return
	}
	p.Copy = &copiesPanel{Text: p.T("confirm.copy_text"), Rows: p.copyRows(pre.Lookalikes)}
	if len(p.Copy.Rows) == 0 {
		p.Copy.Text = p.T("confirm.copy_none")
	}
	p.Danger = true
}

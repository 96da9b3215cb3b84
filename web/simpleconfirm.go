package web

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// messageActs changes dead letters, each on its own.
type messageActs interface {
	Discard(ctx context.Context, ids []string, a dlq.Act) ([]dlq.ActResult, error)
	Restore(ctx context.Context, ids []string, a dlq.Act) ([]dlq.ActResult, error)
	AddNote(ctx context.Context, id, text string, a dlq.Act) error
	Notes(ctx context.Context, id string) ([]dlq.Note, error)
	NotesAfter(ctx context.Context, id string, after int64, limit int) ([]dlq.Note, error)
}

// confirmPage is the step before an act other than a replay.
type confirmPage struct {
	frame
	Heading  string
	Text     sentence
	Points   []string // what to know first
	Rows     []confirmRow
	Fields   []fact // hidden
	Choices  []option
	Choice   string // the name of Choices
	Legend   string
	Action   string
	Button   string
	Icon     string
	Danger   bool
	NoReason bool
	Back     string
}

type confirmRow struct {
	Name, Href, Text string
	State            *mark
	Left             string // why it will be left alone
}

func (s *Server) confirmDiscard(c echo.Context) error {
	return s.confirmMove(c, "discard", func(m dlq.Message) bool { return m.State == dlq.Open })
}

func (s *Server) confirmRestore(c echo.Context) error {
	return s.confirmMove(c, "restore", func(m dlq.Message) bool { return m.State == dlq.Discarded })
}

// confirmMove shows which of the chosen messages will be acted on: those that
// the act goes for.
func (s *Server) confirmMove(c echo.Context, act string, goes func(dlq.Message) bool) error {
	ids, err := idsOf(c.QueryParams()["id"])
	if err != nil {
		return err
	}
	p := confirmPage{frame: s.frame(c, "messages", ""), Action: s.links.to("messages", act), Icon: "archive", Danger: act == "discard"}
	count := int64(0)
	for _, id := range ids {
		m, err := s.Messages.Message(c.Request().Context(), id)
		if err != nil {
			return err
		}
		row := p.confirmRow(m)
		if goes(m) {
			count++
			p.Fields = append(p.Fields, fact{"id", m.ID})
		} else {
			row.Left = p.T("confirm.left_alone")
		}
		p.Rows = append(p.Rows, row)
	}
	p.Heading = p.N("confirm."+act, count)
	p.Title, p.Button = p.Heading, p.Heading
	p.Text = plain(p.T("confirm." + act + "_text"))
	p.Back = s.links.messages()
	if len(ids) == 1 {
		p.Back = s.links.message(ids[0])
	}
	if count == 0 {
		p.Button = ""
	}
	return render(c, http.StatusOK, confirmView(p))
}

func (f frame) confirmRow(m dlq.Message) confirmRow {
	name, state, why := m.BusinessKey, f.state(m), f.failure(m.Facts)
	if name == "" {
		name = m.ID
	}
	return confirmRow{Name: name, Href: f.message(m.ID), Text: why.Type + " " + why.Text, State: &state}
}

func (s *Server) discard(c echo.Context) error { return s.move(c, "discard", s.Messages.Discard) }
func (s *Server) restore(c echo.Context) error { return s.move(c, "restore", s.Messages.Restore) }

type mover func(ctx context.Context, ids []string, a dlq.Act) ([]dlq.ActResult, error)

// move discards or restores, and lists what became of each message where not
// all went as asked.
func (s *Server) move(c echo.Context, act string, do mover) error {
	form, err := c.FormParams()
	if err != nil {
		return malformed("", "the form cannot be read")
	}
	ids, err := idsOf(form["id"])
	if err != nil {
		return err
	}
	reason, err := reasonOf(form.Get("reason"))
	if err != nil {
		return err
	}
	results, err := do(c.Request().Context(), ids, s.act(c, reason))
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(results, func(r dlq.ActResult) bool { return r.Result != dlq.ResultDone }) {
		if len(ids) == 1 {
			return seeOther(c, s.links.message(ids[0]))
		}
		return seeOther(c, with(s.links.messages(), "state", string(stateAfter(act))))
	}
	return render(c, http.StatusConflict, resultsView(s.resultsPage(c, act, results)))
}

// stateAfter is where a message stands that the act was done with.
func stateAfter(act string) dlq.State {
	if act == "discard" {
		return dlq.Discarded
	}
	return dlq.Open
}

// resultsPage is what became of each message of an act.
type resultsPage struct {
	frame
	Notice flash
	Rows   []confirmRow
	Back   string
}

func (s *Server) resultsPage(c echo.Context, act string, results []dlq.ActResult) resultsPage {
	p := resultsPage{frame: s.frame(c, "messages", ""), Back: s.links.messages()}
	done := int64(0)
	for _, r := range results {
		row := confirmRow{Name: r.ID, Href: s.links.message(r.ID), Text: p.of("result", r.Result), Left: r.Why}
		if r.State != "" {
			m := p.state(dlq.Message{State: r.State})
			row.State = &m
		}
		if r.Result == dlq.ResultDone {
			done++
		}
		p.Rows = append(p.Rows, row)
	}
	p.Title = p.T("result." + act)
	p.Notice = flash{"amber", "warn", plain(p.N("result."+act+"_some", done, "Total", number(int64(len(results))))), []sentence{plain(p.T("result.some_text"))}}
	if act == "reimport" {
		p.Notice.Lines = []sentence{plain(p.T("result.reimport_text"))}
	}
	return p
}

// idsOf checks the chosen ids: at least one, each once.
func idsOf(ids []string) ([]string, error) {
	ids = nonEmpty(ids)
	switch {
	case len(ids) == 0:
		return nil, invalid("id", "id: nothing is selected")
	case len(ids) > maxLimit:
		return nil, invalid("id", "id: at most 500 messages at a time")
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

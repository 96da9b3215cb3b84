package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// reimporter takes messages out of quarantine.
type reimporter interface {
	Reimport(ctx context.Context, ids []string, a dlq.Act) ([]dlq.ActResult, error)
}

// inQuarantine reports that a re-import may be asked for.
func inQuarantine(m dlq.Message) bool { return m.Quarantine != "" && m.State == dlq.Open }

// quarantinePanel is what a message in quarantine has instead of headers that
// can be shown: their bytes.
type quarantinePanel struct {
	Why    string
	Size   string
	Hex    string
	Cut    string // that more is there than is shown
	Unread bool   // the headers cannot be read
	Again  *button
}

func (p *messagePage) quarantine(m dlq.Message, l dlq.Life) {
	if m.Quarantine == "" {
		return
	}
	shown := l.RawHeaders[:min(len(l.RawHeaders), maxShownHex)]
	q := &quarantinePanel{Why: m.Quarantine, Size: p.size(int64(len(l.RawHeaders))), Hex: hexDump(shown), Unread: len(l.Headers) == 0 && len(l.RawHeaders) > 0}
	if len(shown) < len(l.RawHeaders) {
		q.Cut = p.T("body.cut", "Shown", p.size(int64(len(shown))), "All", q.Size)
	}
	if p.May("replay") && inQuarantine(m) {
		q.Again = &button{Text: p.T("act.reimport"), Href: with(p.to("messages", "reimport"), "id", m.ID), Icon: "refresh"}
	}
	p.Quarantine = q
}

func (s *Server) confirmReimport(c echo.Context) error {
	return s.confirmMove(c, "reimport", inQuarantine)
}

func (s *Server) reimport(c echo.Context) error { return s.move(c, "reimport", s.Reimports.Reimport) }

// apiReimport answers with the message as it is then, or says why it stays in
// quarantine.
func (s *Server) apiReimport(c echo.Context) error {
	var in struct {
		Reason string `json:"reason"`
	}
	if err := readJSON(c, &in); err != nil {
		return err
	}
	reason, err := reasonOf(in.Reason)
	if err != nil {
		return err
	}
	ctx, id := c.Request().Context(), param(c, "id")
	results, err := s.Reimports.Reimport(ctx, []string{id}, s.act(c, reason))
	if err != nil {
		return err
	}
	switch r := results[0]; r.Result {
	case dlq.ResultNotFound:
		return dlq.ErrNotFound
	case dlq.ResultBadState:
		return bad{http.StatusConflict, "not_quarantined", "", "the message is not in quarantine, or not open; nothing was changed"}
	case dlq.ResultRefused:
		return bad{http.StatusConflict, "reimport_refused", "", "it stays in quarantine, and nothing was changed: " + r.Why}
	}
	m, err := s.Messages.Message(ctx, id)
	if err != nil {
		return err
	}
	return ok(c, newMessageJSON(m))
}

func (s *Server) apiReimportMany(c echo.Context) error {
	return s.apiMove(c, func(ctx context.Context, ids []string, a dlq.Act) ([]dlq.ActResult, error) {
		if len(ids) > maxLimit {
			return nil, invalid("selection", fmt.Sprintf("selection: at most %d messages are re-imported at a time, and it has %d", maxLimit, len(ids)))
		}
		return s.Reimports.Reimport(ctx, ids, a)
	})
}

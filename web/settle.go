package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// settler ends an attempt of which nobody knows whether the broker took it.
type settler interface {
	Settle(ctx context.Context, messageID string, sent bool, a dlq.Act) error
}

// Answers to "was it sent?".
const (
	settledSent    = "sent"
	settledNotSent = "not_sent"
)

func (s *Server) confirmSettle(c echo.Context) error {
	m, err := s.Messages.Message(c.Request().Context(), param(c, "id"))
	if err != nil {
		return err
	}
	attempts, err := s.Replays.Attempts(c.Request().Context(), m.ID, 0, 1)
	if err != nil {
		return err
	}
	if !unknownAttempt(m, attempts) {
		return replay.ErrNotUnknown
	}
	p := confirmPage{frame: s.frame(c, "messages", ""), Action: s.links.to("messages", m.ID, "settle"), Icon: "check", Choice: "as"}
	p.Rows = []confirmRow{p.confirmRow(m)}
	p.Heading = p.T("settle.title", "Name", p.Rows[0].Name)
	p.Title, p.Button, p.Back = p.Heading, p.T("settle.button"), s.links.message(m.ID)
	p.Text, p.Legend = plain(p.T("settle.text")), p.T("settle.legend")
	for _, as := range []string{settledSent, settledNotSent} {
		p.Choices = append(p.Choices, option{Value: as, Text: p.T("settle." + as)})
	}
	return render(c, http.StatusOK, confirmView(p))
}

func (s *Server) settle(c echo.Context) error {
	if err := s.settleAs(c, c.FormValue("as"), c.FormValue("reason")); err != nil {
		return err
	}
	return seeOther(c, s.links.message(param(c, "id")))
}

func (s *Server) settleAs(c echo.Context, as, reason string) error {
	if as != settledSent && as != settledNotSent {
		return invalid("as", `as: takes "sent" or "not_sent"`)
	}
	reason, err := reasonOf(reason)
	if err != nil {
		return err
	}
	return s.Replays.Settle(c.Request().Context(), param(c, "id"), as == settledSent, s.act(c, reason))
}

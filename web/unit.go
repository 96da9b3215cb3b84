package web

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// unitReader says what a replay of one life would send.
type unitReader interface {
	Unit(ctx context.Context, messageID string, round int) (dlq.Unit, error)
}

// originKeeper takes an operator's word for where a message belongs.
type originKeeper interface {
	SetOriginal(ctx context.Context, id string, o dlq.Origin, a dlq.Act) error
}

// unitPanel is what a replay sends, and where to.
type unitPanel struct {
	Family   string // whose knowledge it is
	What     string
	Less     string
	Edits    []string
	Warnings []string
	Agree    []string // what an operator has to agree to
	Problem  string
	Origin   string // where it was consumed
	Evidence string
	Form     *originForm // nil: nothing may be said now
}

// originForm is where an operator says where a message belongs.
type originForm struct {
	Action, Queue, Exchange, RoutingKey string
}

func (f frame) unit(m dlq.Message, u dlq.Unit) *unitPanel {
	p := &unitPanel{
		What: f.T("unit.as_it_died"), Less: f.N("unit.less", int64(len(u.Removed))), Edits: f.each("unit.edit", u.Edits),
		Warnings: f.each("unit.warn", u.Warnings), Agree: f.each("unit.consent", u.Consents),
	}
	if u.Family != "" {
		p.Family = f.T("unit.family", "Family", f.of("extractor", u.Family))
	}
	if len(u.Edits) > 0 {
		p.What = f.T("unit.not_as_it_died")
	}
	if u.Problem != "" {
		p.Problem = f.of("unit.problem", u.Problem)
	}
	p.Origin, p.Evidence = f.T("unit.origin_unknown"), f.T("unit.origin_say")
	if m.Original.Queue != "" {
		p.Origin, p.Evidence = m.Original.Queue, f.of("evidence", m.Original.Evidence)
	}
	if m.State != dlq.Replaying && f.May("replay") {
		p.Form = &originForm{Action: f.to("messages", m.ID, "original"), Queue: m.Original.Queue, Exchange: orEmpty(m.Original.Exchange), RoutingKey: orEmpty(m.Original.RoutingKey)}
	}
	return p
}

func (f frame) each(family string, words []string) []string {
	var said []string
	for _, word := range words {
		said = append(said, f.of(family, word))
	}
	return said
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// consentBox is one thing that has to be agreed to before a message is sent.
type consentBox struct {
	Word, Text string
}

// agreeToUnit puts on the page what would be sent, and what has to be agreed to.
func (p *replayPage) agreeToUnit(u dlq.Unit) {
	p.less = len(u.Removed)
	p.Edits, p.Warnings = p.each("unit.edit", u.Edits), p.each("unit.warn", u.Warnings)
	for _, word := range u.Consents {
		p.Consents = append(p.Consents, consentBox{word, p.of("unit.consent", word)})
		p.Danger = true
	}
	if u.Problem != "" {
		p.Stop = p.of("unit.problem", u.Problem)
	}
}

// unitJSON is what a replay of a message sends.
type unitJSON struct {
	Family       *string          `json:"family"`
	Removed      []string         `json:"removed"`
	Edits        []string         `json:"edits"`
	Warnings     []string         `json:"warnings"`
	NeedsConsent bool             `json:"needs_consent"`
	Consents     []replay.Verdict `json:"consents"`
	Problem      *string          `json:"problem"`
}

func newUnitJSON(u dlq.Unit) *unitJSON {
	shape := &unitJSON{
		Family: orNull(u.Family), Removed: append([]string{}, u.Removed...), Edits: append([]string{}, u.Edits...),
		Warnings: append([]string{}, u.Warnings...), NeedsConsent: len(u.Consents) > 0, Consents: []replay.Verdict{}, Problem: orNull(u.Problem),
	}
	for _, word := range u.Consents {
		shape.Consents = append(shape.Consents, replay.Verdict(word))
	}
	return shape
}

func (s *Server) setOriginal(c echo.Context) error {
	named := func(name string) *string {
		if v := c.FormValue(name); v != "" {
			return &v
		}
		return nil
	}
	if err := s.belongs(c, c.FormValue("queue"), named("exchange"), named("routing_key"), c.FormValue("reason")); err != nil {
		return err
	}
	return seeOther(c, s.links.message(param(c, "id")))
}

func (s *Server) apiSetOriginal(c echo.Context) error {
	var in struct {
		Queue      string  `json:"queue"`
		Exchange   *string `json:"exchange"`
		RoutingKey *string `json:"routing_key"`
		Reason     string  `json:"reason"`
	}
	if err := readJSON(c, &in); err != nil {
		return err
	}
	if err := s.belongs(c, in.Queue, in.Exchange, in.RoutingKey, in.Reason); err != nil {
		return err
	}
	m, err := s.Messages.Message(c.Request().Context(), param(c, "id"))
	if err != nil {
		return err
	}
	return ok(c, map[string]any{"id": m.ID, "original": newOriginJSON(m.Original)})
}

// belongs writes down where a message belongs, on the word of whoever asks.
func (s *Server) belongs(c echo.Context, queue string, exchange, routingKey *string, reason string) error {
	reason, err := reasonOf(reason)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		field string
		value *string
	}{{"queue", &queue}, {"exchange", exchange}, {"routing_key", routingKey}} {
		if f.value != nil && (len(*f.value) > 255 || !isText([]byte(*f.value))) {
			return invalid(f.field, f.field+": takes text of at most 255 bytes, as AMQP does")
		}
	}
	if queue == "" {
		return invalid("queue", "queue: name the queue that the message goes back to")
	}
	m, err := s.Messages.Message(c.Request().Context(), param(c, "id"))
	if err != nil {
		return err
	}
	for _, source := range s.Sources.Statuses() {
		if source.Name == m.Source && source.Queue == queue {
			return invalid("queue", "queue: is the terminal queue itself: a replay would come straight back")
		}
	}
	o := dlq.Origin{Queue: queue, Exchange: exchange, RoutingKey: routingKey}
	return s.Messages.SetOriginal(c.Request().Context(), m.ID, o, s.act(c, reason))
}

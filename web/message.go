package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// messageReader reads one dead letter.
type messageReader interface {
	Message(ctx context.Context, id string) (dlq.Message, error)
	LivesBefore(ctx context.Context, id string, round, limit int) ([]dlq.Life, error)
	LivesAfter(ctx context.Context, id string, round, limit int) ([]dlq.Life, error)
	LifeOfReplay(ctx context.Context, id string, replay int64, sent int) (dlq.Life, error)
	Life(ctx context.Context, id string, round int) (dlq.Life, error)
	Neighbours(ctx context.Context, f dlq.Filter, m dlq.Message) (newer, older string, err error)
}

// attemptReader reads what was tried with one dead letter, newest or oldest
// first.
type attemptReader interface {
	Attempts(ctx context.Context, messageID string, before int64, limit int) ([]replay.Item, error)
	AttemptsAfter(ctx context.Context, messageID string, after int64, limit int) ([]replay.Item, error)
}

// auditLog reads the audit.
type auditLog interface {
	List(ctx context.Context, f audit.Filter) (audit.Page, error)
	About(ctx context.Context, object string, after int64, limit int) ([]audit.Entry, error)
}

// messagePage is one dead letter.
type messagePage struct {
	frame
	ID         string
	Name       string // the business key, or the id where there is none
	HasKey     bool
	State      mark
	Where      string
	List       string
	Newer      string
	Older      string
	First      *button // offered before a replay: it adds nothing any more
	Primary    *button
	Second     *button
	Menu       []button
	Notices    []flash
	Meet       *meetPanel
	Unread     string       // why there is no verdict
	Copies     *copiesPanel // nil: nothing is known to have the same body
	Quarantine *quarantinePanel
	Why        whyPanel
	Unit       *unitPanel
	Journey    []journeyStep
	Lasted     string
	Body       bodyPanel
	Headers    []headerRow
	TakenOff   int
	Props      []fact
	Lives      livesPanel
	Attempts   attemptsPanel
	Notes      []noteRow
	Audit      []auditRow
	AuditAll   string
	Facts      []fact
}

type fact struct {
	Name, Value string
}

// whyPanel is why it died, as its framework and the broker recorded it.
type whyPanel struct {
	From    string
	Broker  string // why the broker dead-lettered it, which is another thing
	Clock   string // what an impossible clock said
	Before  string // that what is told is of the attempt before
	Type    string
	Short   string
	Message string
	Retries string
	First   stamp
	Last    stamp
	Stack   string
	Lines   string
}

func (s *Server) showMessage(c echo.Context) error {
	ctx, id := c.Request().Context(), param(c, "id")
	m, err := s.Messages.Message(ctx, id)
	if err != nil {
		return err
	}
	p := messagePage{frame: s.frame(c, "messages", ""), ID: m.ID}
	p.head(m)
	if err := s.walk(c, &p, m); err != nil {
		return err
	}
	unit, err := s.Replays.Unit(ctx, m.ID, m.Round)
	if err != nil {
		return err
	}
	p.Unit = p.unit(m, unit)
	if err := s.life(ctx, &p, m, unit); err != nil {
		return err
	}
	if err := s.lives(c, &p, m); err != nil {
		return err
	}
	attempts, err := s.attempts(c, &p, m)
	if err != nil {
		return err
	}
	if err := s.around(ctx, &p, m); err != nil {
		return err
	}
	if p.Body, err = s.bodyPanel(c, p.frame, m); err != nil {
		return err
	}
	pre, err := s.Replays.Preflight(ctx, m.ID, replay.RouteAuto)
	s.verdict(c, &p, pre, err)
	p.notices(m, attempts)
	p.acts(m, attempts, pre, err == nil)
	if err == nil {
		p.Copies = p.copies(m, pre.Lookalikes)
	}
	return render(c, http.StatusOK, messageView(p))
}

func (p *messagePage) head(m dlq.Message) {
	p.Name, p.HasKey = m.BusinessKey, m.BusinessKey != ""
	if !p.HasKey {
		p.Name = m.ID
	}
	p.State = p.state(m)
	p.Title = p.Name + ", " + p.State.Text
	p.Where = p.T("message.where", "Source", m.Source, "Round", m.Round)
	p.Live = p.events("message", m.ID, "state", string(m.State), "round", fmt.Sprint(m.Round))
	p.Facts = []fact{
		{p.T("message.id"), m.ID},
		{p.T("message.first_drained"), p.at(m.FirstDrainedAt).Text},
		{p.T("message.drained"), p.at(m.DrainedAt).Text},
	}
	if m.Quarantine != "" {
		p.Facts = append(p.Facts, fact{p.T("message.quarantine"), m.Quarantine})
	}
}

// walk finds the neighbours in the list that the reader came from.
func (s *Server) walk(c echo.Context, p *messagePage, m dlq.Message) error {
	q := queryOf(c.QueryParams())
	f, err := q.filter()
	if err != nil {
		q, f = query{}, dlq.Filter{Limit: defaultLimit}
	}
	p.List = q.on(p.messages())
	newer, older, err := s.Messages.Neighbours(c.Request().Context(), f, m)
	if err != nil {
		return err
	}
	if newer != "" {
		p.Newer = q.on(p.message(newer))
	}
	if older != "" {
		p.Older = q.on(p.message(older))
	}
	return nil
}

// life shows the current life in full.
func (s *Server) life(ctx context.Context, p *messagePage, m dlq.Message, u dlq.Unit) error {
	now, err := s.Messages.Life(ctx, m.ID, m.Round)
	if err != nil {
		return err
	}
	p.quarantine(m, now)
	p.why(now)
	p.journey(m, now)
	if p.Headers, err = p.headers(now.Headers, u.Removed); err != nil {
		return err
	}
	for _, h := range p.Headers {
		if h.TakenOff {
			p.TakenOff++
		}
	}
	for _, pair := range now.Properties.Pairs() {
		p.Props = append(p.Props, fact{pair.Name, pair.Value})
	}
	return nil
}

// countsRuns reports that the count is the header of package guard, which
// counts runs that failed and not how often they were repeated.
func countsRuns(l dlq.Life) bool {
	return l.Failure.Extractor == "guard" && l.RetryCountSource == dlq.RetriesFromFramework
}

func (p *messagePage) why(l dlq.Life) {
	w := whyPanel{
		Type: l.Failure.Type, Short: shortType(l.Failure.Type), Message: l.Failure.Message, Stack: l.Failure.Stack,
		First: p.at(l.FirstDiedAt), Last: p.ago(l.DiedAt),
	}
	none := w.Type == "" && w.Message == "" && w.Stack == ""
	w.From = p.spoke(l, none)
	w.Broker = p.T("why.broker", "Reason", p.of("reason", string(l.Reason)), "Text", p.of("reason_text", string(l.Reason)))
	if none {
		w.Short, w.Message = p.T("why.none"), p.T("why.none_text")
		if l.Reason == dlq.Rejected {
			w.Message = p.T("why.none_rejected")
		}
	}
	if l.Failure.Extractor == "dramatiq" && !none {
		w.Before = p.T("why.attempt_before")
	}
	if l.ClockSaid != "" {
		w.Clock = p.T("why.clock", "Said", l.ClockSaid)
	}
	switch {
	case l.RetryCount == nil:
		w.Retries = p.T("why.retries_unknown")
	case countsRuns(l):
		w.Retries = p.N("why.runs", *l.RetryCount, "Source", p.of("retry_source", l.RetryCountSource))
	default:
		w.Retries = p.N("why.retries", *l.RetryCount, "Source", p.of("retry_source", l.RetryCountSource))
	}
	if w.Stack != "" {
		w.Lines = p.N("why.stack", int64(lineCount(w.Stack)))
	}
	p.Why = w
}

// spoke says which extractor told why, or which framework is known by what it
// left where none told.
func (p *messagePage) spoke(l dlq.Life, none bool) string {
	switch e := l.Failure.Extractor; {
	case e == "" || e == "x-death":
		return p.T("why.from_broker")
	case none:
		return p.T("why.known_by", "Extractor", p.of("extractor", e))
	default:
		return p.T("why.from", "Extractor", p.of("extractor", e))
	}
}

// around reads what people did with the message.
func (s *Server) around(ctx context.Context, p *messagePage, m dlq.Message) error {
	notes, err := s.Messages.Notes(ctx, m.ID)
	if err != nil {
		return err
	}
	for _, n := range notes {
		p.Notes = append(p.Notes, noteRow{p.ago(n.At), n.Actor, n.Text})
	}
	object := "message " + m.ID
	page, err := s.Audit.List(ctx, audit.Filter{Object: object, Limit: 10})
	if err != nil {
		return err
	}
	for _, e := range page.Entries {
		p.Audit = append(p.Audit, p.auditRow(e))
	}
	p.AuditAll = with(p.audit(), "object", object)
	return nil
}

func (s *Server) verdict(c echo.Context, p *messagePage, pre replay.Preflight, err error) {
	if err == nil {
		p.Meet = s.meet(p.frame, pre, shortType(p.Why.Type))
		return
	}
	f := failureOf(err)
	s.logFailure(c, f.status, err)
	p.Unread = p.T("problem." + f.code)
}

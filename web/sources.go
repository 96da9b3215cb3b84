package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// sources are the drains, by the names of their sources.
type sources interface {
	Statuses() []dlq.SourceStatus
	Pause(ctx context.Context, name string, a dlq.Act) error
	Resume(ctx context.Context, name string, a dlq.Act) error
	Confirm(ctx context.Context, name string, seen []string, a dlq.Act) error
}

// figureReader counts what is open.
type figureReader interface {
	Figures(ctx context.Context, now time.Time) ([]dlq.SourceFigures, error)
	OpenCounts(ctx context.Context) (map[string]dlq.SourceFigures, error)
}

// sourcesPage is the state of every source and the configuration in force.
type sourcesPage struct {
	frame
	Sources   []sourcePanel
	Effective string
	Empty     emptyState
}

type sourcePanel struct {
	Name  string
	State mark
	Why   string
	Facts []fact
	// Ask heads the warnings where the source waits for a confirmation.
	Ask      string
	Warnings []string
	Confirm  *button
	Said     string // who confirmed them, and when
	Open     string
	OpenHref string
	Drained  stamp
	Runbook  string
	Act      *button
}

func (s *Server) showSources(c echo.Context) error {
	counts, err := s.Messages.OpenCounts(c.Request().Context())
	if err != nil {
		return err
	}
	p := sourcesPage{frame: s.frame(c, "sources", ""), Effective: s.Effective}
	p.Title, p.Live = p.T("nav.sources"), p.events()
	p.Empty = p.noSources()
	for _, status := range s.Sources.Statuses() {
		p.Sources = append(p.Sources, s.sourcePanel(p.frame, status, counts[status.Name]))
	}
	return render(c, http.StatusOK, sourcesView(p))
}

func (f frame) noSources() emptyState {
	return emptyState{"queue", "grey", f.T("sources.none"), f.S("sources.none_text", "Key", code("sources"), "Command", code("console check")), nil}
}

func (s *Server) sourcePanel(f frame, status dlq.SourceStatus, figures dlq.SourceFigures) sourcePanel {
	p := sourcePanel{
		Name: status.Name, State: f.sourceState(status.State), Why: status.Why, Open: number(figures.Open),
		OpenHref: f.open(status.Name), Runbook: s.Runbooks[status.Name], Drained: f.ago(lastDrained(status, figures)),
	}
	p.Facts = []fact{
		{f.T("sources.queue"), status.Queue},
		{f.T("sources.broker"), status.Broker},
		{f.T("sources.ready"), numberOf(status.Ready)},
		{f.T("sources.unacked"), numberOf(status.Unacked)},
		{f.T("sources.quarantined"), number(figures.Quarantined)},
	}
	p.Warnings = f.sourceWarnings(status)
	open := len(status.Unconfirmed()) > 0
	switch {
	case status.Paused && status.PausedAt.IsZero():
		p.Why = f.T("sources.paused_by", "Actor", status.PausedBy)
	case status.Paused:
		p.Why = f.T("sources.paused_since", "Actor", status.PausedBy, "Since", f.at(status.PausedAt).Text)
	case open && status.State == dlq.SourceBlocked:
		p.Ask, p.Why = f.T("sources.unconfirmed"), ""
	}
	if !open && len(status.Hazards) > 0 && status.ConfirmedBy != "" {
		p.Said = f.T("sources.confirmed_by", "Actor", status.ConfirmedBy, "When", f.at(status.ConfirmedAt).Text)
	}
	if !f.May("operate") {
		return p
	}
	act := "pause"
	if status.Paused {
		act = "resume"
	}
	p.Act = &button{Text: f.T("sources." + act), Href: f.to("sources", status.Name, act), Icon: act}
	if open {
		p.Confirm = &button{Text: f.T("sources.confirm"), Href: f.to("sources", status.Name, "confirm"), Icon: "check"}
	}
	return p
}

// sourceWarnings says what is doubtful about the queue of a source.
func (f frame) sourceWarnings(status dlq.SourceStatus) []string {
	var all []string
	for _, h := range status.Hazards {
		all = append(all, f.hazard(h))
	}
	known := func(kind string) bool {
		return slices.ContainsFunc(status.Hazards, func(h dlq.Hazard) bool { return h.Kind == kind })
	}
	for _, w := range status.Warnings {
		if !known(w) {
			all = append(all, f.hazard(dlq.Hazard{Kind: w}))
		}
	}
	return all
}

func (f frame) hazard(h dlq.Hazard) string {
	detail := h.Detail
	if detail == "" && h.Kind == dlq.WarnDeadLetters {
		detail = f.T("sources.default_exchange")
	}
	return f.T("source_warning."+h.Kind, "Detail", detail)
}

func lastDrained(s dlq.SourceStatus, f dlq.SourceFigures) time.Time {
	if f.LastDrainedAt.After(s.LastDrainedAt) {
		return f.LastDrainedAt
	}
	return s.LastDrainedAt
}

func (s *Server) confirmPause(c echo.Context) error  { return s.confirmSource(c, "pause") }
func (s *Server) confirmResume(c echo.Context) error { return s.confirmSource(c, "resume") }

func (s *Server) confirmSource(c echo.Context, act string) error {
	status, err := s.statusOf(param(c, "name"))
	if err != nil {
		return err
	}
	p := confirmPage{frame: s.frame(c, "sources", ""), Action: s.links.to("sources", status.Name, act), Icon: act, Back: s.links.sources()}
	if act == "resume" {
		p.Icon = "play"
	}
	p.Heading = p.T("confirm."+act, "Name", status.Name)
	p.Title, p.Button = p.Heading, p.Heading
	p.Text = p.S("confirm."+act+"_text", "Queue", code(status.Queue))
	return render(c, http.StatusOK, confirmView(p))
}

// confirmHazards shows what speaks against draining a source. The form carries
// what was shown: what is found out meanwhile is not confirmed with it.
func (s *Server) confirmHazards(c echo.Context) error {
	status, err := s.statusOf(param(c, "name"))
	if err != nil {
		return err
	}
	p := confirmPage{frame: s.frame(c, "sources", ""), Action: s.links.to("sources", status.Name, "confirm"), Icon: "check", Danger: true, Back: s.links.source(status.Name)}
	p.Heading = p.T("confirm.confirm", "Name", status.Name)
	p.Title, p.Button = p.Heading, p.Heading
	p.Text = p.S("confirm.confirm_text", "Queue", code(status.Queue))
	for _, h := range status.Hazards {
		p.Points = append(p.Points, p.hazard(h))
		p.Fields = append(p.Fields, fact{"hazard", h.ID()})
	}
	if len(status.Unconfirmed()) == 0 {
		p.Text, p.Button = plain(p.T("confirm.confirm_nothing")), ""
	}
	return render(c, http.StatusOK, confirmView(p))
}

func (s *Server) confirmedHazards(c echo.Context) error {
	form, err := c.FormParams()
	if err != nil {
		return malformed("", "the form cannot be read")
	}
	return s.turn(c, s.confirming(form["hazard"]))
}

// confirming confirms what was seen; nil: all there is.
func (s *Server) confirming(seen []string) func(context.Context, string, dlq.Act) error {
	return func(ctx context.Context, name string, a dlq.Act) error { return s.Sources.Confirm(ctx, name, seen, a) }
}

func (s *Server) pauseSource(c echo.Context) error  { return s.turn(c, s.Sources.Pause) }
func (s *Server) resumeSource(c echo.Context) error { return s.turn(c, s.Sources.Resume) }

func (s *Server) turn(c echo.Context, do func(context.Context, string, dlq.Act) error) error {
	status, err := s.turnSource(c, c.FormValue("reason"), do)
	if err != nil {
		return err
	}
	return seeOther(c, s.links.source(status.Name))
}

// turnSource pauses or resumes the source that the request names, and returns
// how it stood before.
func (s *Server) turnSource(c echo.Context, why string, do func(context.Context, string, dlq.Act) error) (dlq.SourceStatus, error) {
	reason, err := reasonOf(why)
	if err != nil {
		return dlq.SourceStatus{}, err
	}
	status, err := s.statusOf(param(c, "name"))
	if err != nil {
		return dlq.SourceStatus{}, err
	}
	return status, do(c.Request().Context(), status.Name, s.act(c, reason))
}

func (s *Server) statusOf(name string) (dlq.SourceStatus, error) {
	all := s.Sources.Statuses()
	i := slices.IndexFunc(all, func(x dlq.SourceStatus) bool { return x.Name == name })
	if i < 0 {
		return dlq.SourceStatus{}, fmt.Errorf("web: source %q: %w", name, dlq.ErrNotFound)
	}
	return all[i], nil
}

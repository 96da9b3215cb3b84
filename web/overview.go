package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// overviewPage answers: is something wrong, and what exactly.
type overviewPage struct {
	frame
	Wrong   *wrong
	Figures []figure
	Sources []overviewRow
	Empty   emptyState
	Lately  []auditRow
}

// wrong is the sentence above all.
type wrong struct {
	Tone, Icon string
	Head       sentence
	Text       sentence
	Acts       []button
}

// figure is one number that matters, with its unit and since; it links to what
// proves it.
type figure struct {
	ID, Icon, Tone, Of, N, Unit, Href string
	Since                             []string
}

type overviewRow struct {
	Name, Href   string
	Open, Broker string
	Any          bool
	Oldest       stamp
	Spark        sparkline
	Failure      failureText
	FailureHref  string
	Share        string
	State        mark
	StateHref    string
}

func (s *Server) overview(c echo.Context) error {
	ctx := c.Request().Context()
	figures, err := s.Messages.Figures(ctx, s.Now())
	if err != nil {
		return err
	}
	lately, err := s.Audit.List(ctx, audit.Filter{Limit: 12})
	if err != nil {
		return err
	}
	p := overviewPage{frame: s.frame(c, "overview", "")}
	p.Title, p.Live = p.T("nav.overview"), p.events("overview", "1")
	p.Empty = p.noSources()
	statuses := s.Sources.Statuses()
	byName := map[string]dlq.SourceFigures{}
	for _, f := range figures {
		byName[f.Source] = f
	}
	for _, status := range statuses {
		p.Sources = append(p.Sources, p.overviewRow(status, byName[status.Name]))
	}
	p.Figures = p.figures(sum(figures), statuses)
	p.Wrong = s.wrong(p.frame, statuses, figures)
	settled := slices.DeleteFunc(lately.Entries, func(e audit.Entry) bool {
		return e.Result == audit.ResultIntended // what came of it has an entry of its own
	})
	if p.Lately, err = s.auditRows(ctx, p.frame, settled); err != nil {
		return err
	}
	return render(c, http.StatusOK, overviewView(p))
}

// totals are the figures of all sources together.
type totals struct {
	open, quarantined, fresh int64
	oldest, drained          time.Time
}

func sum(figures []dlq.SourceFigures) totals {
	var t totals
	for _, f := range figures {
		t.open += f.Open
		t.quarantined += f.Quarantined
		if n := len(f.Last6h); n > 0 {
			t.fresh += f.Last6h[n-1]
		}
		if !f.OldestOpen.IsZero() && (t.oldest.IsZero() || f.OldestOpen.Before(t.oldest)) {
			t.oldest = f.OldestOpen
		}
		if f.LastDrainedAt.After(t.drained) {
			t.drained = f.LastDrainedAt
		}
	}
	return t
}

// figures are the tiles; the stream of events brings them anew.
func (f frame) figures(t totals, statuses []dlq.SourceStatus) []figure {
	open := figure{ID: "open", Icon: "open", Tone: "amber", Of: f.T("figure.open"), N: number(t.open), Href: with(f.messages(), "state", "open")}
	if t.open == 0 {
		open.Tone, open.Icon = "green", "check"
	}
	open.Since = []string{f.N("figure.fresh", t.fresh)}
	oldest := figure{ID: "oldest", Icon: "clock", Tone: "grey", Of: f.T("figure.oldest"), N: "–", Href: open.Href, Since: []string{f.T("figure.none_open")}}
	if !t.oldest.IsZero() {
		oldest.N, oldest.Since = f.span(f.now.Sub(t.oldest)), []string{f.at(t.oldest).Text}
	}
	quarantined := figure{ID: "quarantined", Icon: "warn", Tone: "violet", Of: f.T("figure.quarantined"), N: number(t.quarantined), Href: open.Href, Since: []string{f.T("figure.quarantined_text")}}
	if t.quarantined == 0 {
		quarantined.Tone = "grey"
	}
	return []figure{open, oldest, quarantined, f.drainFigure(t, statuses)}
}

func (f frame) drainFigure(t totals, statuses []dlq.SourceStatus) figure {
	up, ready, known := 0, int64(0), false
	for _, s := range statuses {
		if s.State == dlq.SourceUp {
			up++
		}
		if s.Ready != nil {
			ready, known = ready+*s.Ready, true
		}
		if s.LastDrainedAt.After(t.drained) {
			t.drained = s.LastDrainedAt
		}
	}
	d := figure{ID: "drain", Icon: "check", Tone: "green", Of: f.T("figure.drain"), N: fmt.Sprint(up), Unit: f.T("figure.of_up", "Total", len(statuses)), Href: f.sources()}
	if up < len(statuses) {
		d.Icon, d.Tone = "warn", "amber"
	}
	if !t.drained.IsZero() {
		d.Since = append(d.Since, f.T("figure.last_drained", "When", f.ago(t.drained).Text))
	}
	if known && ready > 0 {
		d.Since = append(d.Since, f.N("figure.on_broker", ready))
	}
	return d
}

func (p *overviewPage) overviewRow(status dlq.SourceStatus, f dlq.SourceFigures) overviewRow {
	row := overviewRow{
		Name: status.Name, Href: p.open(status.Name), Open: number(f.Open), Any: f.Open > 0, Broker: onBroker(status),
		State: p.sourceState(status.State), StateHref: p.source(status.Name), Spark: p.spark(status.Name, f.Last6h),
	}
	if f.Open > 0 {
		row.Oldest = p.ago(f.OldestOpen)
	}
	if f.TopCount == 0 {
		return row
	}
	row.Failure = p.failure(dlq.Facts{Reason: f.TopReason, Failure: dlq.Failure{Type: f.TopFailureType, Message: f.TopFailureMessage}})
	row.FailureHref = p.died(status.Name, f.TopFailureType)
	row.Share = p.T("overview.share", "N", number(f.TopCount), "Total", number(f.Open))
	return row
}

// onBroker is what still lies in the terminal queue, delivered or not.
func onBroker(s dlq.SourceStatus) string {
	if s.Ready == nil && s.Unacked == nil {
		return "?"
	}
	total := int64(0)
	for _, n := range []*int64{s.Ready, s.Unacked} {
		if n != nil {
			total += *n
		}
	}
	return number(total)
}

// wrong says what is wrong in one sentence: first where nothing is drained,
// then where most lies dead.
func (s *Server) wrong(f frame, statuses []dlq.SourceStatus, figures []dlq.SourceFigures) *wrong {
	for _, status := range statuses {
		if status.State == dlq.SourceUp || status.State == dlq.SourcePaused {
			continue
		}
		return &wrong{
			"red", "warn", f.S("wrong."+string(status.State), "Source", status.Name, "Queue", code(status.Queue)),
			plain(status.Why),
			[]button{{Text: f.T("wrong.open_source"), Href: f.source(status.Name)}},
		}
	}
	var worst dlq.SourceFigures
	for _, x := range figures {
		if x.Open > worst.Open {
			worst = x
		}
	}
	if worst.Open == 0 {
		return nil
	}
	w := &wrong{Tone: "red", Icon: "bell", Acts: []button{{Text: f.N("wrong.show", worst.Open), Href: f.open(worst.Source)}}}
	why := f.failure(dlq.Facts{Reason: worst.TopReason, Failure: dlq.Failure{Type: worst.TopFailureType, Message: worst.TopFailureMessage}})
	w.Head = f.SN("wrong.dead", worst.Open, "Source", worst.Source, "Since", f.at(worst.OldestOpen).Text,
		"Top", number(worst.TopCount), "Failure", linked(why.Type, f.died(worst.Source, worst.TopFailureType)))
	if why.Text != "" {
		w.Text = plain(why.Text)
	}
	if url := s.Runbooks[worst.Source]; strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
		w.Acts = append(w.Acts, button{Text: f.T("overview.runbook"), Href: url, Icon: "book"})
	}
	return w
}

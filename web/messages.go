package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// messageLister finds dead letters, newest death first, and counts them by what
// they can be narrowed by.
type messageLister interface {
	List(ctx context.Context, f dlq.Filter) (dlq.Page, error)
	Facets(ctx context.Context, f dlq.Filter) (dlq.Facets, error)
}

// messagesPage is the list of dead letters.
type messagesPage struct {
	frame
	Query     query
	States    []option
	Sources   []option
	Reasons   []option
	Marks     []option
	Type      string // the failure type it is narrowed to
	AnyType   string // the list without that
	Filtered  bool
	Clear     string
	Error     string // what of the query cannot be read
	Bad       string // the parameter that Error is about
	Total     sentence
	Facets    []facetGroup
	Rows      []messageRow
	Empty     emptyState
	Range     string
	First     string // the first page, "" where this is it
	Older     string
	Reload    string
	CanChange bool
	CanImport bool // some row is in quarantine, and the reader may take it out
}

type option struct {
	Value, Text string
	Selected    bool
}

type facetGroup struct {
	Title  string
	Facets []facet
}

type facet struct {
	Mark    *mark
	Text    string
	Count   string
	Href    string
	Current bool
}

type messageRow struct {
	ID, Href  string
	Died      stamp
	Key       string
	Failure   failureText
	Retries   string
	Queue     string
	Source    string
	State     mark
	Twin      bool
	Selection string // the checkbox's name for a screen reader
}

// failureText is why a message died in one line: the type carries the link.
type failureText struct {
	Type, Text string
}

func (s *Server) listMessages(c echo.Context) error {
	q := queryOf(c.QueryParams())
	p := messagesPage{frame: s.frame(c, "messages", ""), Query: q, Clear: s.links.messages()}
	p.Title, p.Find, p.Filtered = p.T("nav.messages"), q.Text, len(q.values()) > 0
	p.CanChange = p.May("discard")
	p.options(s.Sources.Statuses())
	if q.Type != "" {
		p.Type, p.AnyType = shortType(q.Type), q.toggle(p.messages(), "type", q.Type, true)
	}
	f, err := s.selecting(c.Request().Context(), q)
	if b, ok := asBad(err); ok {
		p.Error, p.Bad = p.badly(b), b.field
		return render(c, b.status, messagesView(p))
	}
	if err != nil {
		return err
	}
	page, err := s.Messages.List(c.Request().Context(), f)
	if err != nil {
		return err
	}
	facets, err := s.Messages.Facets(c.Request().Context(), f)
	if err != nil {
		return err
	}
	p.fill(q, page)
	p.facets(q, facets, page.Total)
	return render(c, http.StatusOK, messagesView(p))
}

func (p *messagesPage) options(sources []dlq.SourceStatus) {
	p.States = append(p.States, option{"", p.T("filter.any_state"), len(p.Query.States) == 0})
	for _, state := range dlq.States {
		selected := len(p.Query.States) == 1 && p.Query.States[0] == string(state)
		p.States = append(p.States, option{string(state), p.of("state", string(state)), selected})
	}
	p.Sources = append(p.Sources, option{"", p.T("filter.any_source"), p.Query.Source == ""})
	for _, source := range sources {
		p.Sources = append(p.Sources, option{source.Name, source.Name, source.Name == p.Query.Source})
	}
	p.Reasons = append(p.Reasons, option{"", p.T("filter.any_reason"), p.Query.Reason == ""})
	p.Marks = append(p.Marks, option{"", p.T("filter.any_mark"), p.Query.Mark == ""})
	for _, m := range dlq.Marks {
		p.Marks = append(p.Marks, option{string(m), p.of("mark", string(m)), string(m) == p.Query.Mark})
	}
	for _, reason := range dlq.Reasons {
		p.Reasons = append(p.Reasons, option{string(reason), p.of("reason", string(reason)), string(reason) == p.Query.Reason})
	}
}

func (p *messagesPage) fill(q query, page dlq.Page) {
	p.Total = plain(p.T("messages.match_none"))
	if n := page.Total.N; n > 0 {
		p.Total = p.SN("messages.match", n, "Count", strong(p.count(page.Total)))
	}
	for _, m := range page.Messages {
		p.Rows = append(p.Rows, p.row(q, m))
		p.CanImport = p.CanImport || m.Quarantine != "" && p.May("replay")
	}
	p.Reload = q.on(p.messages())
	if q.Cursor != "" {
		p.First = p.Reload
	}
	if page.Next != "" {
		v := q.values()
		v.Set("cursor", page.Next)
		if q.Limit != "" {
			v.Set("limit", q.Limit)
		}
		p.Older = p.messages() + "?" + v.Encode()
	}
	p.Range = p.N("messages.on_page", int64(len(p.Rows)), "Total", p.count(page.Total))
	p.Empty = p.nothing(q)
	p.watch(q, page.Messages)
}

// watch lets the page hear of newer messages. A search in bodies is too dear
// to be asked again each second, and an older page has nothing new on top.
func (p *messagesPage) watch(q query, rows []dlq.Message) {
	if q.Text != "" || q.Cursor != "" {
		p.Live = p.events()
		return
	}
	v := q.values()
	v.Set("list", "1")
	if len(rows) > 0 {
		v.Set("top", rows[0].ID)
	}
	p.Live = p.events() + "?" + v.Encode()
}

func (p *messagesPage) nothing(q query) emptyState {
	if p.Filtered && !(len(q.values()) == 1 && len(q.States) == 1) {
		return emptyState{
			"search", "grey", p.T("messages.none_match"), plain(p.T("messages.none_match_text")),
			[]button{{Text: p.T("filter.clear"), Href: p.Clear}},
		}
	}
	return emptyState{"inbox", "green", p.T("messages.none"), plain(p.T("messages.none_text")), nil}
}

func (f frame) count(c dlq.Count) string {
	if !c.Exact {
		return f.T("count.at_least", "N", number(c.N))
	}
	return number(c.N)
}

func (f frame) row(q query, m dlq.Message) messageRow {
	r := messageRow{
		ID: m.ID, Href: q.on(f.message(m.ID)), Died: f.ago(m.DiedAt), Key: m.BusinessKey, Failure: f.failure(m.Facts),
		Retries: numberOf(m.RetryCount), Queue: m.Original.Queue, Source: m.Source, State: f.state(m), Twin: m.PossibleCopy,
	}
	name := m.BusinessKey
	if name == "" {
		name = f.T("messages.without_key")
	}
	r.Selection = f.T("messages.select_one", "Name", name)
	return r
}

func (f frame) failure(facts dlq.Facts) failureText {
	switch {
	case facts.Failure.Type != "":
		return failureText{shortType(facts.Failure.Type), facts.Failure.Message}
	case facts.Failure.Message != "":
		return failureText{facts.Failure.Message, ""}
	case facts.Original.Queue != "":
		return failureText{f.of("reason", string(facts.Reason)), f.T("messages.died_in", "Queue", facts.Original.Queue)}
	}
	return failureText{f.of("reason", string(facts.Reason)), ""}
}

func (p *messagesPage) facets(q query, facets dlq.Facets, total dlq.Count) {
	group := func(title string, add func(*facetGroup)) {
		g := facetGroup{Title: p.T(title)}
		add(&g)
		if len(g.Facets) > 0 {
			p.Facets = append(p.Facets, g)
		}
	}
	group("facet.state", func(g *facetGroup) {
		for _, state := range dlq.States {
			n, there := facets.States[state]
			if !there {
				continue
			}
			m := p.mark("state", string(state), stateLooks[state])
			current := len(q.States) == 1 && q.States[0] == string(state)
			g.Facets = append(g.Facets, facet{&m, m.Text, p.faceted(facets, n), q.toggle(p.messages(), "state", string(state), current), current})
		}
	})
	group("facet.reason", func(g *facetGroup) {
		for _, reason := range dlq.Reasons {
			n, there := facets.Reasons[reason]
			if !there {
				continue
			}
			current := q.Reason == string(reason)
			g.Facets = append(g.Facets, facet{nil, p.of("reason", string(reason)), p.faceted(facets, n), q.toggle(p.messages(), "reason", string(reason), current), current})
		}
	})
	group("facet.type", func(g *facetGroup) {
		for _, failure := range byCount(facets.Types) {
			current := q.Type == failure
			g.Facets = append(g.Facets, facet{nil, shortType(failure), p.faceted(facets, facets.Types[failure]), q.toggle(p.messages(), "type", failure, current), current})
		}
		if _, shown := facets.Types[q.Type]; q.Type != "" && !shown {
			g.Facets = append(g.Facets, facet{nil, shortType(q.Type), p.count(total), q.toggle(p.messages(), "type", q.Type, true), true})
		}
	})
	group("facet.source", func(g *facetGroup) {
		for _, source := range sortedKeys(facets.Sources) {
			current := q.Source == source
			g.Facets = append(g.Facets, facet{nil, source, p.faceted(facets, facets.Sources[source]), q.toggle(p.messages(), "source", source, current), current})
		}
	})
}

// faceted is a count of a facet, marked where it is of the newest only.
func (p *messagesPage) faceted(facets dlq.Facets, n int64) string {
	return p.count(dlq.Count{N: n, Exact: facets.Exact})
}

// byCount returns the words, the most frequent first.
func byCount(counts map[string]int64) []string {
	words := sortedKeys(counts)
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return words
}

// toggle returns the address of the list narrowed to value, or without it where
// it is narrowed to that already.
func (q query) toggle(path, name, value string, on bool) string {
	v := q.values()
	v.Del(name)
	if !on {
		v.Set(name, value)
	}
	return path + encoded(v)
}

func encoded(v url.Values) string {
	if len(v) == 0 {
		return ""
	}
	return "?" + v.Encode()
}

package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// watches are the parts of the page that the stream's address names.
func (s *Server) watches(c echo.Context) ([]*watch, error) {
	all := []*watch{{event: "depth", render: s.watchDepth(c)}}
	if c.QueryParam("overview") != "" {
		all = append(all, &watch{event: "figures", render: s.watchFigures(c)})
	}
	if c.QueryParam("list") != "" {
		render, err := s.watchList(c)
		if err != nil {
			return nil, err
		}
		all = append(all, &watch{event: "new", render: render})
	}
	if id := c.QueryParam("message"); id != "" {
		if _, err := s.Messages.Message(c.Request().Context(), id); err != nil {
			return nil, err
		}
		all = append(all,
			&watch{event: "state", render: s.watchState(c, id)},
			&watch{event: "changed", render: s.watchChange(c, id)},
			&watch{event: "attempts", render: s.watchAttempts(c, id)})
	}
	if id, err := strconv.ParseInt(c.QueryParam("replay"), 10, 64); err == nil {
		all = append(all, &watch{event: "replay", render: s.watchReplay(c, id)})
	}
	return all, nil
}

type rendering = func(ctx context.Context, p pulse) (templ.Component, error)

func (s *Server) watchDepth(c echo.Context) rendering {
	return func(_ context.Context, p pulse) (templ.Component, error) {
		return depthView(s.frame(c, "", ""), p.totals.open), nil
	}
}

func (s *Server) watchFigures(c echo.Context) rendering {
	return func(_ context.Context, p pulse) (templ.Component, error) {
		if p.figured.IsZero() {
			return nil, nil
		}
		f := s.frame(c, "", "")
		return figuresView(f, f.figures(p.totals, p.statuses)), nil
	}
}

// watchList counts what is newer than the first row of a list. It looks only
// when the number of open messages or the last drain has changed.
func (s *Server) watchList(c echo.Context) (rendering, error) {
	q, top := queryOf(c.QueryParams()), c.QueryParam("top")
	filter, err := q.filter()
	if err != nil {
		return nil, err
	}
	if filter.Text != "" {
		return nil, badQuery("q", "q: a search in bodies is not followed")
	}
	filter.Limit = defaultLimit
	var seen totals
	newer := 0
	return func(ctx context.Context, p pulse) (templ.Component, error) {
		if p.totals.drained.Equal(seen.drained) && p.totals.open == seen.open {
			return newNote(s.frame(c, "", ""), newer, q), nil
		}
		seen = p.totals
		page, err := s.Messages.List(ctx, filter)
		if err != nil {
			return nil, err
		}
		newer = newerThan(page.Messages, top)
		return newNote(s.frame(c, "", ""), newer, q), nil
	}, nil
}

// newerThan counts the rows above top. Where top is not among them any more,
// because it left the list, none is called new.
func newerThan(rows []dlq.Message, top string) int {
	if top == "" {
		return len(rows)
	}
	for i, m := range rows {
		if m.ID == top {
			return i
		}
	}
	if len(rows) == defaultLimit {
		return len(rows)
	}
	return 0
}

func newNote(f frame, n int, q query) templ.Component {
	if n == 0 {
		return templ.NopComponent
	}
	return newPill(f, f.N("messages.new", int64(n)), q.on(f.messages()))
}

func (s *Server) watchState(c echo.Context, id string) rendering {
	return func(ctx context.Context, _ pulse) (templ.Component, error) {
		m, err := s.Messages.Message(ctx, id)
		if err != nil {
			return nil, err
		}
		f := s.frame(c, "", "")
		return pill(f, f.state(m)), nil
	}
}

// watchChange tells that the message is not any more what the page shows.
func (s *Server) watchChange(c echo.Context, id string) rendering {
	state, round := c.QueryParam("state"), c.QueryParam("round")
	return func(ctx context.Context, _ pulse) (templ.Component, error) {
		m, err := s.Messages.Message(ctx, id)
		if err != nil {
			return nil, err
		}
		if string(m.State) == state && strconv.Itoa(m.Round) == round {
			return templ.NopComponent, nil
		}
		f := s.frame(c, "", "")
		return notice(f, flash{
			"blue", "refresh", f.S("message.changed", "State", f.state(m).Text),
			[]sentence{f.S("message.changed_text", "Again", linked(f.T("meet.again"), f.message(id)))},
		}), nil
	}
}

func (s *Server) watchAttempts(c echo.Context, id string) rendering {
	return func(ctx context.Context, _ pulse) (templ.Component, error) {
		items, err := s.Replays.Attempts(ctx, id, 0, lifetime+1)
		if err != nil {
			return nil, err
		}
		f := s.frame(c, "", "")
		return attemptsView(f, f.attemptsPanel(id, items)), nil
	}
}

func (s *Server) watchReplay(c echo.Context, id int64) rendering {
	return func(context.Context, pulse) (templ.Component, error) {
		p, err := s.replayedPage(c, id, "")
		if errors.Is(err, dlq.ErrNotFound) {
			return nil, echo.NewHTTPError(http.StatusNotFound)
		}
		if err != nil {
			return nil, err
		}
		return replayedParts(p), nil
	}
}

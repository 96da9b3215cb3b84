package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// replayReader reads what was replayed.
type replayReader interface {
	List(ctx context.Context, before int64, limit int) ([]replay.Summary, int64, error)
	Replayed(ctx context.Context, id int64) (replay.Summary, error)
	Items(ctx context.Context, id int64, after string, limit int) ([]replay.Item, string, error)
}

// replayer sends one message back.
type replayer interface {
	Replay(ctx context.Context, r replay.Request) (replay.Result, error)
}

// replaysPage is the history of replays.
type replaysPage struct {
	frame
	Rows  []replayRow
	Empty emptyState
	First string
	Older string
}

type replayRow struct {
	Number, Href string
	At           stamp
	By           string
	Reason       string
	Total        string
	Item         *attemptRow // of a single one
}

func (s *Server) listReplays(c echo.Context) error {
	before, err := positionOf(c, "before")
	if err != nil {
		return err
	}
	list, next, err := s.Replays.List(c.Request().Context(), before, defaultLimit)
	if err != nil {
		return err
	}
	p := replaysPage{frame: s.frame(c, "replays", "")}
	p.Title, p.Live = p.T("nav.replays"), p.events()
	p.Empty = emptyState{
		"replay", "grey", p.T("replays.none"), plain(p.T("replays.none_text")),
		[]button{{Text: p.T("nav.messages"), Href: with(p.messages(), "state", "open")}},
	}
	for _, r := range list {
		p.Rows = append(p.Rows, p.replayRow(r))
	}
	if before != 0 {
		p.First = p.replays()
	}
	if next != 0 {
		p.Older = with(p.replays(), "before", fmt.Sprint(next))
	}
	return render(c, http.StatusOK, replaysView(p))
}

func (f frame) replayRow(r replay.Summary) replayRow {
	row := replayRow{
		Number: f.T("replay.number", "ID", r.ID), Href: f.replay(r.ID), At: f.ago(r.CreatedAt),
		By: r.Actor, Reason: r.Reason, Total: number(int64(r.Total)),
	}
	if r.First.MessageID != "" {
		item := f.attemptRow(r.First)
		row.Item = &item
	}
	return row
}

// replayedPage is one replay and what became of it.
type replayedPage struct {
	frame
	Heading string
	Began   stamp // a clock time: it stands where no event brings it anew
	Row     replayRow
	Says    flash
	Items   []attemptRow
	Older   string
}

func (s *Server) showReplay(c echo.Context) error {
	id, err := replayID(c)
	if err != nil {
		return err
	}
	p, err := s.replayedPage(c, id, c.QueryParam("after"))
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, replayedView(p))
}

func (s *Server) replayedPage(c echo.Context, id int64, after string) (replayedPage, error) {
	ctx := c.Request().Context()
	r, err := s.Replays.Replayed(ctx, id)
	if err != nil {
		return replayedPage{}, err
	}
	items, next, err := s.Replays.Items(ctx, id, after, defaultLimit)
	if err != nil {
		return replayedPage{}, err
	}
	p := replayedPage{frame: s.frame(c, "replays", "")}
	p.Heading = p.T("replay.number", "ID", r.ID)
	p.Title, p.Live = p.Heading, p.events("replay", fmt.Sprint(r.ID))
	p.Began = p.at(r.CreatedAt)
	p.Row, p.Items = p.replayRow(r), p.attemptRows(items)
	for i := range items {
		p.Items[i].Guards = s.guardsBefore(p.frame, items[i].Evidence)
	}
	if len(items) == 1 {
		p.Says = p.outcomeNotice(items[0])
		again, err := s.diedAgain(ctx, p.frame, items[0])
		if err != nil {
			return replayedPage{}, err
		}
		p.Says.Lines = append(p.Says.Lines, again...)
	}
	if next != "" {
		p.Older = with(p.replay(id), "after", next)
	}
	return p, nil
}

// guardsBefore reads what the guards said just before a message was sent, as
// the replay recorded it; none where it cannot be read.
func (s *Server) guardsBefore(f frame, recorded json.RawMessage) []guardStep {
	var before struct {
		Guards []replay.GuardAnswer `json:"guards"`
	}
	if len(recorded) == 0 || json.Unmarshal(recorded, &before) != nil {
		return nil
	}
	return s.guardSteps(f, before.Guards)
}

// diedAgain says why what this replay sent came back dead, and where to see it.
func (s *Server) diedAgain(ctx context.Context, f frame, i replay.Item) ([]sentence, error) {
	if i.Outcome != replay.DeadAgain {
		return nil, nil
	}
	to := sentence{linked(f.T("replay.open_message"), f.message(i.MessageID))}
	l, err := s.Messages.LifeOfReplay(ctx, i.MessageID, i.ReplayID, i.Round)
	switch {
	case errors.Is(err, dlq.ErrNotFound):
		return []sentence{to}, nil
	case err != nil:
		return nil, err
	}
	why := f.failure(l.Facts)
	said := f.S("replay.died_again", "Failure", strong(why.Type))
	if why.Text != "" {
		said = f.S("replay.died_again_text", "Failure", strong(why.Type), "Text", why.Text)
	}
	return []sentence{said, to}, nil
}

// outcomeNotice says in one sentence what became of a single replay.
func (f frame) outcomeNotice(i replay.Item) flash {
	family, word, m := "attempt_says", string(i.Attempt), f.attempt(i.Attempt)
	if i.Outcome != "" {
		family, word, m = "outcome_says", string(i.Outcome), f.outcome(i.Outcome)
	}
	name := i.BusinessKey
	if name == "" {
		name = i.MessageID
	}
	n := flash{Tone: m.Tone, Icon: m.Icon, Head: f.S(family+"."+word, "Name", linked(name, f.message(i.MessageID)))}
	n.Lines = append(n.Lines, plain(f.T(family+"."+word+".text")))
	if i.Outcome == replay.DeadAgain {
		return n // that it came back is all the proof there is
	}
	if i.Outcome != "" && i.OutcomeSource != "" {
		n.Lines = append(n.Lines, f.S("outcome.known_from", "Source", f.of("outcome_source", string(i.OutcomeSource))))
	}
	if i.Detail != "" {
		n.Lines = append(n.Lines, plain(f.detail(i.Detail)))
	}
	return n
}

// replayID returns the id in the address; what is no number names no replay.
func replayID(c echo.Context) (int64, error) {
	id, err := strconv.ParseInt(param(c, "id"), 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("web: replay %q: %w", param(c, "id"), dlq.ErrNotFound)
	}
	return id, nil
}

// positionOf returns a position in a list that pages by number, 0 where none
// was given.
func positionOf(c echo.Context, name string) (int64, error) {
	value := c.QueryParam(name)
	if value == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 1 {
		return 0, badQuery(name, fmt.Sprintf("%s: is not a position of this list", name))
	}
	return n, nil
}

package web

import (
	"fmt"
	"math"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// lifetime is how many lives, or attempts, of a message one page shows.
const lifetime = 20

// livesPanel is one page of the lives of a message, the newest first.
type livesPanel struct {
	Count string // of all lives; "" where there is but one
	Rows  []lifeRow
	Pages pages
}

// pages leads through a list in the middle of a page.
type pages struct {
	Range         string
	Newest, Older string // "": this is the newest or the oldest page
}

type lifeRow struct {
	Round   string
	Died    stamp
	Failure failureText
	Replay  *button // whose copy came back
	Body    button
}

// lives reads the page of lives that was asked for by ?lives=, the round before
// which it begins. How many there are the message's round says: nothing is
// counted.
func (s *Server) lives(c echo.Context, p *messagePage, m dlq.Message) error {
	before, err := positionOf(c, "lives")
	if err != nil {
		return err
	}
	if before > math.MaxInt32 {
		return badQuery("lives", "lives: there is no such round")
	}
	if m.Round < 2 {
		return nil
	}
	lives, err := s.Messages.LivesBefore(c.Request().Context(), m.ID, int(before), lifetime)
	if err != nil {
		return err
	}
	p.Lives.Count = p.N("life.count", int64(m.Round))
	for _, l := range lives {
		p.Lives.Rows = append(p.Lives.Rows, p.life(m, l))
	}
	here := func(round string) string { return with(p.message(m.ID), "lives", round) + "#lives" }
	if before > 0 && before <= int64(m.Round) {
		p.Lives.Pages.Newest = here("")
	}
	if len(lives) == 0 {
		return nil
	}
	first, last := lives[0].Round, lives[len(lives)-1].Round
	if last > 1 {
		p.Lives.Pages.Older = here(fmt.Sprint(last))
	}
	if len(lives) < m.Round {
		p.Lives.Pages.Range = p.T("life.range", "From", number(int64(first)), "To", number(int64(last)), "Of", number(int64(m.Round)))
	}
	return nil
}

func (p *messagePage) life(m dlq.Message, l dlq.Life) lifeRow {
	row := lifeRow{
		Round: p.T("life.round", "Round", l.Round), Died: p.ago(l.DiedAt), Failure: p.failure(l.Facts),
		Body: button{Text: p.T("body.download"), Href: with(p.to("messages", m.ID, "body"), "round", fmt.Sprint(l.Round))},
	}
	if l.ReplayID != 0 {
		row.Replay = &button{Text: p.T("life.of_replay", "ID", l.ReplayID), Href: p.replay(l.ReplayID)}
	}
	return row
}

// attemptsPanel is one page of what was tried with a message, the newest first.
type attemptsPanel struct {
	Rows  []attemptRow
	Pages pages
	Live  bool // the newest page, which the stream of events keeps fresh
}

// attempts reads the page of attempts that was asked for by ?attempts=, the
// replay before which it begins, and returns the newest attempt.
func (s *Server) attempts(c echo.Context, p *messagePage, m dlq.Message) ([]replay.Item, error) {
	ctx := c.Request().Context()
	before, err := positionOf(c, "attempts")
	if err != nil {
		return nil, err
	}
	newest, err := s.Replays.Attempts(ctx, m.ID, 0, lifetime+1)
	if err != nil {
		return nil, err
	}
	shown := newest
	if before > 0 {
		if shown, err = s.Replays.Attempts(ctx, m.ID, before, lifetime+1); err != nil {
			return nil, err
		}
	}
	p.Attempts = p.attemptsPanel(m.ID, shown)
	if before > 0 {
		p.Attempts.Live, p.Attempts.Pages.Newest = false, p.message(m.ID)+"#attempts-h"
	}
	return newest[:min(len(newest), 1)], nil
}

// attemptsPanel shows items, of which the last says only that there are more.
func (f frame) attemptsPanel(id string, items []replay.Item) attemptsPanel {
	p := attemptsPanel{Live: true, Rows: f.attemptRows(items[:min(len(items), lifetime)])}
	if len(items) > lifetime {
		p.Pages.Older = with(f.message(id), "attempts", fmt.Sprint(items[lifetime-1].ReplayID)) + "#attempts-h"
	}
	return p
}

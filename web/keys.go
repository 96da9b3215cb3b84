package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// keyKeeper opens one idempotency key and releases it.
type keyKeeper interface {
	InspectKey(ctx context.Context, key string) (replay.KeyInspection, error)
	ReleaseKey(ctx context.Context, key, seen string, a dlq.Act) (keys.ReleaseResult, keys.Key, error)
}

// maxKey bounds a key's name in bytes.
const maxKey = 1024

// keysPage is the key spaces and, where one was asked for, one key.
type keysPage struct {
	frame
	Spaces []spaceRow
	Asked  string
	Error  string
	Key    *keyPanel
	Empty  emptyState
}

type spaceRow struct {
	Name, Pattern, Style, TTL, StuckAfter, Tells string
}

// keyPanel is one key: what it says, for how long, and what that means.
type keyPanel struct {
	Name     string
	State    mark
	Text     string
	Why      string
	WhyNot   string
	Release  string
	Type     string
	Value    string
	Fields   []fact
	TTL      *ttlBar
	Tone     string
	Life     string
	Age      string
	Facts    []fact
	Evidence []guardStep
	Messages []messageRow
	Releases []auditRow
}

func (s *Server) showKeys(c echo.Context) error {
	p := keysPage{frame: s.frame(c, "keys", ""), Asked: strings.TrimSpace(c.QueryParam("key"))}
	p.Title = p.T("nav.keys")
	p.Live = p.events()
	for _, space := range s.Spaces {
		p.Spaces = append(p.Spaces, p.spaceRow(space))
	}
	p.Empty = emptyState{"key", "grey", p.T("keys.no_spaces"), plain(p.T("keys.no_spaces_text")), nil}
	if p.Asked == "" {
		return render(c, http.StatusOK, keysView(p))
	}
	k, err := s.inspect(c, p.Asked)
	switch {
	case errors.Is(err, keys.ErrNoSpace):
		p.Error = p.T("keys.no_space")
		return render(c, http.StatusNotFound, keysView(p))
	case err != nil:
		return err
	}
	p.Title = k.Key.Name
	p.Key = s.keyPanel(p.frame, k)
	return render(c, http.StatusOK, keysView(p))
}

func (s *Server) inspect(c echo.Context, key string) (replay.KeyInspection, error) {
	if len(key) > maxKey {
		return replay.KeyInspection{}, badQuery("key", "key: is longer than any key of a key space")
	}
	return s.Replays.InspectKey(c.Request().Context(), key)
}

func (f frame) spaceRow(s keys.Space) spaceRow {
	row := spaceRow{
		Name: s.Name, Pattern: s.Pattern, Style: f.of("style", string(s.Style)), TTL: "–", StuckAfter: f.span(s.StuckAfter),
		Tells: f.T("style." + string(s.Style) + ".tells"),
	}
	if s.TTL > 0 {
		row.TTL = f.span(s.TTL)
	}
	return row
}

func (s *Server) keyPanel(f frame, k replay.KeyInspection) *keyPanel {
	p := &keyPanel{Name: k.Key.Name, State: f.keyState(k.Key.State), Type: f.of("key_type", k.Key.Type), Value: k.Key.Value}
	switch {
	case k.Stuck:
		p.State = mark{"key", "amber", f.T("key.stuck")}
	case k.Stale:
		p.State = mark{"key", "amber", f.T("key.stale", "State", p.State.Text)}
	}
	p.Text = f.T("keytext." + string(k.Key.State))
	p.Why = f.of("why", k.Decision.Why)
	if k.Releasable && f.May("release") {
		p.Release = with(f.to("keys", "release"), "key", k.Key.Name)
	}
	if !k.Releasable {
		p.WhyNot = f.of("why", k.WhyNot)
	}
	for _, name := range sortedKeys(k.Key.Fields) {
		p.Fields = append(p.Fields, fact{name, k.Key.Fields[name]})
	}
	p.life(f, k)
	p.Evidence = s.evidence(f, k)
	for _, m := range k.Messages {
		p.Messages = append(p.Messages, f.row(query{}, m))
	}
	for _, e := range k.Releases {
		p.Releases = append(p.Releases, f.auditRow(e))
	}
	return p
}

// life tells how long the key has been there and how long it will be.
func (p *keyPanel) life(f frame, k replay.KeyInspection) {
	p.Tone = p.State.Tone
	p.Facts = []fact{{f.T("keys.space"), k.Space.Name}}
	if k.BusinessKey != "" {
		p.Facts = append(p.Facts, fact{f.T("messages.key"), k.BusinessKey})
	}
	if age, known := k.Key.Age(); known {
		p.Age = f.T("keys.age", "Span", f.span(age), "Source", f.of("age_source", k.Key.SinceFrom))
	} else if k.Key.State != keys.Absent {
		p.Age = f.T("keys.age_unknown")
	}
	if k.Key.Attempts != nil {
		p.Facts = append(p.Facts, fact{f.T("keys.attempts"), number(*k.Key.Attempts)})
	}
	if k.Key.NoExpiry() {
		p.Life = f.T("guard.no_expiry")
	}
	if k.Key.ExpiresAt.IsZero() {
		return
	}
	left := k.Key.ExpiresAt.Sub(k.Key.ReadAt)
	p.Life = f.T("guard.frees_itself", "Span", f.span(left))
	if k.Space.TTL > 0 {
		p.TTL = f.ttl(max(k.Space.TTL, left), left)
	}
}

// evidence is what stands beside the key: the business database and the queue.
func (s *Server) evidence(f frame, k replay.KeyInspection) []guardStep {
	var steps []guardStep
	for _, g := range k.Guards {
		if g.Kind != replay.KindKey {
			step := s.guardStep(f, 0, g)
			step.Head = g.Name
			steps = append(steps, step)
		}
	}
	if k.Evidence.Unacked != nil {
		steps = append(steps, guardStep{Head: f.T("keys.unacked"), Says: number(*k.Evidence.Unacked)})
	}
	return steps
}

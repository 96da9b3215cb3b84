package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// maxReason bounds the reason of an act, in characters.
const maxReason = 500

// replayPage is the step before a message is sent back: what will be done, and
// what it will meet.
type replayPage struct {
	frame
	ID, Name string
	Back     string
	Action   string
	Heading  string
	Sentence sentence
	Meet     *meetPanel
	Keys     []seenKey
	Override string       // the verdict that has to be agreed to, "" for none
	Copy     *copiesPanel // what a possible copy asks to be agreed to; nil: it is none
	Agree    string
	Edits    []string     // what is sent that is not as it died
	Warnings []string     // what should be known of what is sent
	Consents []consentBox // what has to be agreed to of what is sent
	Stop     string       // why it cannot be sent so
	Instead  *button
	Button   string
	Danger   bool
	less     int  // how many headers a replay takes off
	again    bool // it was resolved: it goes only where the verdict is agreed to
}

// seenKey is one key to release, with the token of what the operator saw.
type seenKey struct {
	Name, Href, Value, Seen string
	State                   mark
	Life                    string
}

func (s *Server) confirmReplay(c echo.Context) error {
	p, pre, err := s.replayStep(c)
	if err != nil {
		return err
	}
	p.Action, p.Button = p.to("messages", p.ID, "replay"), p.T("act.replay_name", "Name", p.Name)
	p.Heading = p.Button
	p.Sentence = p.going(pre.Destination, p.less)
	p.consent(pre.Verdict, pre.Guards)
	if pre.Consent == replay.SentReleased {
		p.Stop = p.T("confirm.needs_release")
		if len(pre.Releasable) > 0 && p.May("release") {
			p.Instead = &button{Text: p.T("act.release_replay"), Href: p.to("messages", p.ID, "release"), Icon: "key"}
		}
	}
	return render(c, http.StatusOK, replayConfirmView(p))
}

func (s *Server) confirmReleaseReplay(c echo.Context) error {
	if err := may(c, "replay"); err != nil {
		return err
	}
	p, pre, err := s.replayStep(c)
	if err != nil {
		return err
	}
	p.Action, p.Button = p.to("messages", p.ID, "release"), p.T("act.release_replay_name", "Name", p.Name)
	p.Heading = p.Button
	p.Sentence = p.going(pre.Destination, p.less)
	for _, k := range pre.Releasable {
		p.Keys = append(p.Keys, p.seenKey(k))
	}
	p.consent(pre.AfterRelease, guardsAfterRelease(pre))
	if len(p.Keys) == 0 {
		p.Stop = p.T("confirm.nothing_to_release")
		p.Instead = &button{Text: p.T("act.replay"), Href: p.to("messages", p.ID, "replay"), Icon: "replay"}
	}
	return render(c, http.StatusOK, replayConfirmView(p))
}

// replayStep reads what both confirm pages show.
func (s *Server) replayStep(c echo.Context) (replayPage, replay.Preflight, error) {
	ctx := c.Request().Context()
	m, err := s.Messages.Message(ctx, param(c, "id"))
	if err != nil {
		return replayPage{}, replay.Preflight{}, err
	}
	pre, err := s.Replays.Preflight(ctx, m.ID, replay.RouteAuto)
	if err != nil {
		return replayPage{}, replay.Preflight{}, err
	}
	p := replayPage{frame: s.frame(c, "messages", ""), ID: m.ID, Name: m.BusinessKey, Back: s.links.message(m.ID)}
	if p.Name == "" {
		p.Name = m.ID
	}
	p.Title, p.again = p.T("act.replay_name", "Name", p.Name), m.State == dlq.Resolved
	p.Meet = s.meet(p.frame, pre, shortType(m.Failure.Type))
	if pre.Verdict == replay.AlreadyEffected && m.State == dlq.Open && p.May("discard") {
		p.Instead = &button{Text: p.T("act.discard_instead"), Href: with(p.to("messages", "discard"), "id", m.ID), Icon: "archive"}
	}
	p.agreeToCopy(pre)
	p.agreeToUnit(pre.Unit)
	if !replayable(m) {
		p.Stop = p.T("confirm.bad_state", "State", p.state(m).Text)
	}
	return p, pre, nil
}

func (p *replayPage) going(d replay.Destination, less int) sentence {
	if d.Queue == "" && d.Exchange == "" {
		return plain(p.T("confirm.no_destination"))
	}
	switch {
	case len(p.Edits) > 0:
		return p.S("confirm.going_changed", "Queue", code(d.Queue))
	case less == 0:
		return p.S("confirm.going_all", "Queue", code(d.Queue))
	}
	return p.SN("confirm.going", int64(less), "Queue", code(d.Queue))
}

// consent puts what the verdict asks for on the page.
func (p *replayPage) consent(v replay.Verdict, guards []replay.GuardAnswer) {
	switch asks := replay.ConsentFor(v); {
	case p.Stop != "":
	case asks == replay.SentNever:
		p.Stop = p.T("confirm.never")
	case asks == replay.SentOverride || p.again:
		p.Override = string(v)
		p.Agree = p.T("confirm.agree", "Fate", p.fate(v, guards))
		if p.again {
			p.Agree = p.T("confirm.agree_resolved", "Fate", p.fate(v, guards))
		}
		p.Danger = true
	}
}

func (f frame) seenKey(k keys.Key) seenKey {
	row := seenKey{Name: k.Name, Href: f.key(k.Name), Value: k.Value, Seen: k.Seen, State: f.keyState(k.State)}
	switch {
	case k.NoExpiry():
		row.Life = f.T("guard.no_expiry")
	case !k.ExpiresAt.IsZero():
		row.Life = f.T("guard.frees_itself", "Span", f.span(k.ExpiresAt.Sub(k.ReadAt)))
	}
	return row
}

func (s *Server) replay(c echo.Context) error { return s.sendReplay(c) }

func (s *Server) releaseReplay(c echo.Context) error {
	if err := may(c, "replay"); err != nil {
		return err
	}
	return s.sendReplay(c)
}

// sendReplay does what a confirm page showed, and shows what became of it.
func (s *Server) sendReplay(c echo.Context) error {
	form, err := c.FormParams()
	if err != nil {
		return malformed("", "the form cannot be read")
	}
	r, err := s.replayRequest(c, form)
	if err != nil {
		return err
	}
	result, err := s.Replays.Replay(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return seeOther(c, s.links.replay(result.ReplayID))
}

func (s *Server) replayRequest(c echo.Context, form url.Values) (replay.Request, error) {
	reason, err := reasonOf(form.Get("reason"))
	if err != nil {
		return replay.Request{}, err
	}
	act := s.act(c, reason)
	r := replay.Request{MessageID: param(c, "id"), Actor: act.Actor, From: act.From, Reason: reason, At: act.At, Route: replay.RouteAuto}
	names, seen := form["key"], form["seen"]
	if len(names) != len(seen) {
		return r, malformed("seen", "each key needs the token that came with its reading")
	}
	for i := range names {
		r.ReleaseKeys = append(r.ReleaseKeys, replay.Release{Key: names[i], Seen: seen[i]})
	}
	if len(names) > 0 {
		if err := may(c, "release"); err != nil {
			return r, err
		}
	}
	for _, v := range form["override"] {
		if v != "" {
			r.Override = append(r.Override, replay.Verdict(v))
		}
	}
	return r, areVerdicts(r.Override)
}

// areVerdicts checks the words that a request agrees to.
func areVerdicts(words []replay.Verdict) error {
	for _, v := range words {
		if !slices.Contains(replay.Overrides, v) {
			return invalid("override", fmt.Sprintf("override: %q is no word that can be passed over; there are %s", v, join(replay.Overrides)))
		}
	}
	return nil
}

// reasonOf checks the reason of an act; every act on money has one.
func reasonOf(text string) (string, error) {
	return textOf("reason", text, "say why; it goes to the audit", maxReason)
}

// textOf checks what somebody wrote into field: some text, at most the given
// number of characters. missing says what an empty field lacks.
func textOf(field, text, missing string, most int) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", invalid(field, field+": "+missing)
	case utf8.RuneCountInString(text) > most:
		return "", invalid(field, fmt.Sprintf("%s: at most %d characters", field, most))
	case !isText([]byte(text)):
		return "", invalid(field, field+": is not text")
	}
	return text, nil
}

// preflightOf returns the preflight that a refused replay carries.
func preflightOf(err error) (replay.Preflight, bool) {
	if refused, ok := errors.AsType[*replay.NotSentError](err); ok {
		return refused.Preflight, true
	}
	if refused, ok := errors.AsType[*replay.NotAgreedError](err); ok {
		return refused.Preflight, true
	}
	if refused, ok := errors.AsType[*replay.PossibleCopyError](err); ok {
		return refused.Preflight, true
	}
	return replay.Preflight{}, false
}

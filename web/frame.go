package web

import (
	"bytes"
	"context"
	"net/http"
	"slices"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/auth"
)

// frame is what every page has around its own content.
type frame struct {
	words
	clock
	links

	Title     string
	Section   string // which entry of the navigation is current
	Theme     string
	Here      string // this page, for forms that come back to it
	Live      string // the stream of events that keeps this page fresh; "" for none
	Env       string
	EnvTone   string
	Actor     string
	Find      string // what the search box holds
	Hotkeys   bool
	Nav       []navEntry
	Open      int64 // open messages, where OpenKnown
	OpenKnown bool
	Themes    []choice
	Other     choice // the other language
	Clock     choice // the other way to show times
	Keys      choice // hotkeys on or off
	AsOf      stamp
	CSS       []string
	Scripts   []string
	Icon      string
	Sprite    string
	may       func(auth.Permission) bool
	Flash     *flash
}

type navEntry struct {
	Text, Href string
	Current    bool
	Depth      bool // shows how many messages are open
}

// choice is a button that sets one preference.
type choice struct {
	Name, Value, Text string
	Lang              string // of Text, where it is not the page's
	Current           bool
}

// flash is one sentence above a page: what the last act did.
type flash struct {
	Tone, Icon string
	Head       sentence
	Lines      []sentence
}

var tones = []string{"red", "amber", "green", "blue", "violet", "grey"}

func (s *Server) frame(c echo.Context, section, title string) frame {
	r := c.Request()
	prefs := s.preferencesOf(r)
	w := s.texts.in(prefs.Lang)
	now := s.Now()
	f := frame{
		words: w, clock: clock{now: now, absolute: prefs.Times == "clock", words: w}, links: s.links,
		Title: title, Section: section, Theme: prefs.Theme, Here: r.URL.RequestURI(),
		Env: s.Environment.Name, EnvTone: "grey", Actor: actorOf(c).Name, Hotkeys: prefs.Hotkey == "on",
		CSS:     []string{s.assets.url("tokens.css"), s.assets.url("app.css")},
		Scripts: s.assets.scripts(), Sprite: s.assets.url("sprite.svg"), Icon: s.assets.url("favicon.svg"),
		may: actorOf(c).May,
	}
	if f.Actor == "" {
		f.Actor = f.T("nobody")
	}
	if slices.Contains(tones, s.Environment.Color) {
		f.EnvTone = s.Environment.Color
	}
	f.AsOf = f.at(now)
	f.AsOf.Text = now.Format("15:04:05")
	f.Nav = s.navigation(w, section)
	f.Open, f.OpenKnown = s.live.open()
	f.preferences(prefs)
	return f
}

func (s *Server) navigation(w words, section string) []navEntry {
	l := s.links
	entries := []navEntry{
		{w.T("nav.overview"), l.overview(), section == "overview", false},
		{w.T("nav.messages"), with(l.messages(), "state", "open"), section == "messages", true},
		{w.T("nav.replays"), l.replays(), section == "replays", false},
		{w.T("nav.keys"), l.keys(), section == "keys", false},
		{w.T("nav.sources"), l.sources(), section == "sources", false},
		{w.T("nav.audit"), l.audit(), section == "audit", false},
	}
	return entries
}

func (f *frame) preferences(p preferences) {
	for _, theme := range choices["theme"] {
		f.Themes = append(f.Themes, choice{Name: "theme", Value: theme, Text: f.T("theme." + theme), Current: theme == p.Theme})
	}
	f.Other = choice{Name: "lang", Value: "zh-CN", Text: "中文", Lang: "zh-CN"}
	if p.Lang == "zh-CN" {
		f.Other = choice{Name: "lang", Value: "en", Text: "EN", Lang: "en"}
	}
	f.Clock = choice{Name: "times", Value: "clock", Text: f.T("foot.clock_times")}
	if p.Times == "clock" {
		f.Clock = choice{Name: "times", Value: "ago", Text: f.T("foot.relative_times")}
	}
	f.Keys = choice{Name: "hotkeys", Value: "off", Text: f.T("foot.hotkeys_off")}
	if p.Hotkey == "off" {
		f.Keys = choice{Name: "hotkeys", Value: "on", Text: f.T("foot.hotkeys_on")}
	}
}

// May reports whether the reader's roles grant p; what they do not is not
// offered. The routes ask again.
func (f frame) May(p string) bool { return f.may(auth.Permission(p)) }

// render writes a page. It renders to memory first, so that a failure still
// gets its own status.
func render(c echo.Context, status int, page templ.Component) error {
	var b bytes.Buffer
	// A reader who has left does not make the rendering fail: it asks nobody.
	if err := page.Render(context.WithoutCancel(c.Request().Context()), &b); err != nil {
		return err
	}
	return c.HTMLBlob(status, b.Bytes())
}

// seeOther answers a form: the browser goes to the page that shows the result.
func seeOther(c echo.Context, to string) error {
	return c.Redirect(http.StatusSeeOther, to)
}

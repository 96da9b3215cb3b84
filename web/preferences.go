package web

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
)

// preferences are what a reader chose for pages; they live in cookies and hold
// nothing that identifies anybody.
type preferences struct {
	Lang   string
	Theme  string // light, dark or system
	Times  string // ago or clock
	Hotkey string // on or off
}

// choices are the values that each cookie may have; the first is the default.
// The language's default comes from the browser.
var choices = map[string][]string{
	"lang":    languages,
	"theme":   {"system", "light", "dark"},
	"times":   {"ago", "clock"},
	"hotkeys": {"on", "off"},
}

const cookiePrefix = "dlo_"

func (s *Server) preferencesOf(r *http.Request) preferences {
	return preferences{
		Lang:   s.texts.match(cookieOf(r, "lang"), r.Header.Get("Accept-Language")),
		Theme:  chosen(r, "theme"),
		Times:  chosen(r, "times"),
		Hotkey: chosen(r, "hotkeys"),
	}
}

func chosen(r *http.Request, name string) string {
	if v := cookieOf(r, name); slices.Contains(choices[name], v) {
		return v
	}
	return choices[name][0]
}

func cookieOf(r *http.Request, name string) string {
	cookie, err := r.Cookie(cookiePrefix + name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// savePreference keeps one choice in a cookie and goes back to the page.
func (s *Server) savePreference(c echo.Context) error {
	name, value := c.FormValue("name"), c.FormValue("value")
	if !slices.Contains(choices[name], value) {
		return malformed("value", "there is no such choice")
	}
	c.SetCookie(&http.Cookie{
		Name: cookiePrefix + name, Value: value, Path: s.links.base + "/", MaxAge: 365 * 24 * 3600,
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: s.links.external != nil && s.links.external.Scheme == "https",
	})
	return c.Redirect(http.StatusSeeOther, s.links.local(c.FormValue("back")))
}

package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// releasePage is the step before a key is released.
type releasePage struct {
	frame
	Key    *keyPanel
	Seen   string
	Action string
	Back   string
}

func (s *Server) confirmRelease(c echo.Context) error {
	k, err := s.inspect(c, c.QueryParam("key"))
	if err != nil {
		return err
	}
	p := releasePage{
		frame: s.frame(c, "keys", ""), Seen: k.Key.Seen,
		Action: s.links.to("keys", "release"), Back: s.links.key(k.Key.Name),
	}
	p.Title = p.T("keys.release_title")
	p.Key = s.keyPanel(p.frame, k)
	return render(c, http.StatusOK, releaseView(p))
}

func (s *Server) releaseKey(c echo.Context) error {
	key := c.FormValue("key")
	reason, err := reasonOf(c.FormValue("reason"))
	if err != nil {
		return err
	}
	result, before, err := s.Replays.ReleaseKey(c.Request().Context(), key, c.FormValue("seen"), s.act(c, reason))
	if err != nil {
		return err
	}
	return render(c, statusOfRelease(result), releasedView(s.releasedPage(c, key, result, before)))
}

// statusOfRelease is 200 where the key is not there any more, 409 where it was
// left alone.
func statusOfRelease(r keys.ReleaseResult) int {
	if r == keys.Released || r == keys.Gone {
		return http.StatusOK
	}
	return http.StatusConflict
}

// releasedPage says what became of a release.
type releasedPage struct {
	frame
	Notice flash
	Name   string
	Before []fact
	Acts   []button
}

func (s *Server) releasedPage(c echo.Context, key string, r keys.ReleaseResult, before keys.Key) releasedPage {
	p := releasedPage{frame: s.frame(c, "keys", ""), Name: key}
	p.Title = p.of("release", string(r))
	l := look{"warn", "amber"}
	if r == keys.Released {
		l = look{"check", "green"}
	}
	p.Notice = flash{l.tone, l.icon, p.S("release."+string(r)+".head", "Key", code(key)), []sentence{plain(p.T("release." + string(r) + ".text"))}}
	if before.Type != "" && before.State != keys.Absent {
		p.Before = []fact{{p.T("keys.type"), before.Type}, {p.T("keys.state"), p.of("key", string(before.State))}}
		if before.Value != "" {
			p.Before = append(p.Before, fact{p.T("keys.value"), before.Value})
		}
		for _, name := range sortedKeys(before.Fields) {
			p.Before = append(p.Before, fact{name, before.Fields[name]})
		}
	}
	p.Acts = []button{{Text: p.T("keys.read_again"), Href: p.key(key)}}
	return p
}

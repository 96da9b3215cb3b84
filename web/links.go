package web

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// links builds every address of the console, so that it works under any base
// path.
type links struct {
	base     string // "" or "/dlo": no slash at its end
	external *url.URL
}

func newLinks(base, external string) (links, error) {
	l := links{base: strings.TrimRight("/"+strings.Trim(base, "/"), "/")}
	if strings.ContainsAny(l.base, "?#%:*\\\" ") || strings.Contains(l.base, "//") {
		return links{}, fmt.Errorf("web: base path %q is not a plain path", base)
	}
	if external == "" {
		return l, nil
	}
	u, err := url.Parse(external)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return links{}, fmt.Errorf("web: external URL %q is not an http or https address", external)
	}
	l.external = u
	return l, nil
}

// to joins escaped parts to a path under the base path: to("messages", id).
func (l links) to(parts ...string) string {
	var b strings.Builder
	b.WriteString(l.base)
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(escapeSegment(p))
	}
	if len(parts) == 0 {
		b.WriteByte('/')
	}
	return b.String()
}

// escapeSegment escapes one segment; "." and ".." would be taken for steps
// through the path by every browser.
func escapeSegment(s string) string {
	switch s {
	case ".":
		return "%2E"
	case "..":
		return "%2E%2E"
	}
	return url.PathEscape(s)
}

// with adds name, value pairs to path; pairs with an empty value are left out.
func with(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Add(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

func (l links) overview() string         { return l.to() }
func (l links) messages() string         { return l.to("messages") }
func (l links) message(id string) string { return l.to("messages", id) }
func (l links) replays() string          { return l.to("replays") }
func (l links) replay(id int64) string   { return l.to("replays", fmt.Sprint(id)) }
func (l links) keys() string             { return l.to("keys") }
func (l links) key(name string) string   { return with(l.to("keys"), "key", name) }
func (l links) sources() string          { return l.to("sources") }
func (l links) source(name string) string {
	return l.to("sources") + "#" + url.PathEscape("source-"+name)
}
func (l links) audit() string             { return l.to("audit") }
func (l links) events(q ...string) string { return with(l.to("events"), q...) }
func (l links) open(source string) string {
	return with(l.messages(), "state", "open", "source", source)
}

// died is what is open in a source by one type of failure, or all of it where
// the type is not known.
func (l links) died(source, failure string) string {
	return with(l.messages(), "state", "open", "source", source, "type", failure)
}

// local returns target if it is a path of this console, else the overview: no
// form of ours may send the browser elsewhere.
func (l links) local(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || !strings.HasPrefix(target, l.base+"/") ||
		strings.HasPrefix(target, "//") || strings.ContainsAny(target, "\\\r\n\t") {
		return l.overview()
	}
	return target
}

// param returns a part of the request's path as it was before it was escaped:
// echo hands out the escaped form wherever an escape was needed.
func param(c echo.Context, name string) string {
	value := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return value
	}
	if plain, err := url.PathUnescape(value); err == nil {
		return plain
	}
	return value
}

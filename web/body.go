package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

// defaultBodyInline is how much a page shows of a body; the download has it all.
const defaultBodyInline = 256 << 10

// maxShownHex bounds the hex view, which is four times as long as its bytes.
const maxShownHex = 16 << 10

// bodyReader reads bodies in parts.
type bodyReader interface {
	BodyFacts(ctx context.Context, id string, round int) (dlq.BodyFacts, error)
	BodyPart(ctx context.Context, id string, round int, offset int64, most int) ([]byte, error)
}

// size says how large something is, as people say it.
func (w words) size(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.bytes {
			return strings.TrimSuffix(strconv.FormatFloat(float64(n)/float64(unit.bytes), 'f', 1, 64), ".0") + " " + unit.name
		}
	}
	return w.N("body.bytes", n)
}

// bodyPanel is the body in one of its views.
type bodyPanel struct {
	Views    []button
	View     string // tree, pretty, raw or hex
	Tree     node
	Text     string
	Cut      string // that more is there than is shown
	Size     string
	Type     string
	SHA256   string
	Short    string
	Download string
	Empty    bool
}

func (s *Server) bodyPanel(c echo.Context, f frame, m dlq.Message) (bodyPanel, error) {
	body, err := s.Messages.BodyPart(c.Request().Context(), m.ID, m.Round, 0, s.BodyInline)
	if err != nil {
		return bodyPanel{}, err
	}
	sum := hex.EncodeToString(m.BodySHA256)
	p := bodyPanel{
		Size: f.N("body.bytes", m.BodySize), Type: m.ContentType, SHA256: sum, Short: sum,
		Download: f.to("messages", m.ID, "body"), Empty: m.BodySize == 0,
	}
	if len(sum) > 16 {
		p.Short = sum[:8] + "…" + sum[len(sum)-4:]
	}
	if p.Type == "" {
		p.Type = f.T("body.no_type")
	}
	if m.ContentEncoding != "" {
		p.Type += ", " + m.ContentEncoding
	}
	cut := int64(len(body)) < m.BodySize
	if unpacked, more, ok := unpack(m.ContentEncoding, body, s.BodyInline); ok {
		body, cut = unpacked, cut || more
		p.Type += " " + f.T("body.unpacked")
	}
	p.choose(f, m, body, cut, c.QueryParam("view"))
	return p, nil
}

// choose takes the view that was asked for, where the body can be shown so,
// else the best that it can.
func (p *bodyPanel) choose(f frame, m dlq.Message, body []byte, cut bool, asked string) {
	views := []string{"hex"}
	text := isText(trimRune(body, cut))
	if text {
		views = []string{"raw", "hex"}
	}
	tree, isJSON := node{}, false
	if text && !cut {
		if tree, isJSON = parseTree(body); isJSON {
			views = []string{"tree", "pretty", "raw", "hex"}
		}
	}
	p.View = views[0]
	for _, v := range views {
		if v == asked {
			p.View = v
		}
	}
	for _, v := range views {
		b := button{Text: f.T("body." + v), Href: with(f.message(m.ID), "view", v) + "#body"}
		if v == p.View {
			b.Title = "current"
		}
		p.Views = append(p.Views, b)
	}
	switch p.View {
	case "tree":
		p.Tree = tree
	case "pretty":
		p.Text = tree.pretty()
	case "raw":
		p.Text = string(trimRune(body, cut))
	case "hex":
		cut = cut || len(body) > maxShownHex
		body = body[:min(len(body), maxShownHex)]
		p.Text = hexDump(body)
	}
	if cut {
		p.Cut = f.T("body.cut", "Shown", f.size(int64(len(body))), "All", f.size(m.BodySize))
	}
}

// trimRune drops a character that the cut went through.
func trimRune(b []byte, cut bool) []byte {
	for i := 0; cut && i < utf8.UTFMax && len(b) > 0; i++ {
		if r, size := utf8.DecodeLastRune(b); r != utf8.RuneError || size > 1 {
			break
		}
		b = b[:len(b)-1]
	}
	return b
}

// unpack opens a gzip body for display, as far as it was read and within the
// same bound; more says that this is not all of it.
func unpack(encoding string, body []byte, most int) (out []byte, more, ok bool) {
	if !strings.EqualFold(strings.TrimSpace(encoding), "gzip") {
		return nil, false, false
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, false, false
	}
	out, err = io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil && len(out) == 0 {
		return nil, false, false
	}
	more = err != nil || len(out) > most
	return out[:min(len(out), most)], more, true
}

// hexDump is hex.Dump with upright dots: offset, bytes, characters.
func hexDump(b []byte) string { return hex.Dump(b) }

// roundOf returns the round that was asked for, 0 for the current one.
func roundOf(c echo.Context) (int, error) {
	value := c.QueryParam("round")
	if value == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 1 {
		return 0, badQuery("round", fmt.Sprintf("round: takes a number from 1; %q is none", value))
	}
	return int(n), nil
}

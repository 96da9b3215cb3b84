package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// problem is the shape of an RFC 9457 document. A program reads Code; Detail
// is for the person who reads its log.
type problem struct {
	Type      string         `json:"type"`
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Code      string         `json:"code"`
	Detail    string         `json:"detail"`
	Field     *string        `json:"field,omitempty"`
	Position  *int           `json:"position,omitempty"` // in a query, counted from 1
	RequestID string         `json:"request_id"`
	Preflight *preflightJSON `json:"preflight,omitempty"`
}

func (s *Server) problem(c echo.Context, f failure, err error) error {
	p := problem{
		Type: "about:blank", Title: http.StatusText(f.status), Status: f.status, Code: f.code,
		Detail: s.texts.in("en").T("problem." + f.code), RequestID: requestID(c),
	}
	if b := (bad{}); errors.As(err, &b) {
		p.Detail = b.detail
		if b.field != "" {
			p.Field = &b.field
		}
	}
	if q := (queryPosition{}); errors.As(err, &q) {
		p.Position = &q.position
	}
	if pre, ok := preflightOf(err); ok {
		shape := newPreflightJSON(pre)
		p.Preflight = &shape
		p.Detail += " " + howToConsent(pre)
	}
	c.Response().Header().Set(echo.HeaderContentType, "application/problem+json")
	return writeJSON(c, f.status, p)
}

// howToConsent says, for programs and those who write them, what a request has
// to carry so that the verdict lets the message go.
func howToConsent(p replay.Preflight) string {
	words := p.Words()
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(string(w))
	}
	override := `"override":[` + strings.Join(quoted, ",") + `]`
	switch p.Consent {
	case replay.SentNever:
		return fmt.Sprintf("The verdict is %s: no request lets it go.", p.Verdict)
	case replay.SentOverride:
		return fmt.Sprintf("The verdict is %s: to send it all the same, add %s.", p.Verdict, override)
	case replay.SentReleased:
		how := fmt.Sprintf(`The verdict is %s: add "release_keys" with the key and seen of preflight.releasable`, p.Verdict)
		if len(words) > 0 {
			how += " and " + override
		}
		return how + "."
	}
	return fmt.Sprintf("The verdict is %s now: ask again.", p.Verdict)
}

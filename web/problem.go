package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
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
	}
	c.Response().Header().Set(echo.HeaderContentType, "application/problem+json")
	return writeJSON(c, f.status, p)
}

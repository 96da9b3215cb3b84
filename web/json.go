package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// readJSON reads one JSON document into target, strictly: an unknown field and
// a wrong type are answers that name the field. A body may be missing only
// where optional says so.
func readJSON(c echo.Context, target any) error {
	body, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return malformed("", "the body is empty; a JSON object is needed")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(target); err != nil {
		return badJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return malformed("", "something follows the JSON object")
	}
	return nil
}

// readOptionalJSON is readJSON for requests that need no body.
func readOptionalJSON(c echo.Context, target any) error {
	if c.Request().ContentLength == 0 {
		return nil
	}
	return readJSON(c, target)
}

const unknownField = `json: unknown field "`

func badJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return invalid(wrong.Field, fmt.Sprintf("%s: a %s is no %s", wrong.Field, wrong.Value, jsonType(wrong)))
	case strings.HasPrefix(err.Error(), unknownField):
		field := strings.TrimSuffix(strings.TrimPrefix(err.Error(), unknownField), `"`)
		return malformed(field, field+": there is no such field")
	}
	if b := (bad{}); errors.As(err, &b) {
		return b
	}
	return malformed("", "the body is not JSON: "+err.Error())
}

func jsonType(e *json.UnmarshalTypeError) string {
	switch name := e.Type.Kind().String(); name {
	case "slice":
		return "array"
	case "struct", "map":
		return "object"
	case "int", "int64", "float64":
		return "number"
	default:
		return name
	}
}

// writeJSON answers with v. The content type that is set already stays.
func writeJSON(c echo.Context, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("web: write JSON: %w", err)
	}
	h := c.Response().Header()
	if h.Get(echo.HeaderContentType) == "" {
		h.Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	}
	c.Response().WriteHeader(status)
	_, err = c.Response().Write(append(body, '\n'))
	return err
}

func ok(c echo.Context, v any) error { return writeJSON(c, http.StatusOK, v) }

// listJSON is the shape of every list.
type listJSON[T any] struct {
	Items []T        `json:"items"`
	Next  *string    `json:"next_cursor"`
	Total *totalJSON `json:"total"`
}

type totalJSON struct {
	Count int64 `json:"count"`
	Exact bool  `json:"exact"`
}

// listOf makes a list of items; a cursor of "" is the end.
func listOf[T any](items []T, next string, total *totalJSON) listJSON[T] {
	if items == nil {
		items = []T{}
	}
	return listJSON[T]{items, orNull(next), total}
}

// complete is the total of a list that has everything.
func complete[T any](items []T) *totalJSON { return &totalJSON{int64(len(items)), true} }

// orNull is nil for the zero value: what is not known is null.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func secondsOrNull(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	s := d.Round(time.Millisecond).Seconds()
	return &s
}

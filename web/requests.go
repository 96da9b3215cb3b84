package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

const requestIDKey = "request_id"

// identify gives each request an id of the console's own; the page of a failure
// shows it and the log has it.
func (s *Server) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := "r-" + strings.ToLower(rand.Text()[:10])
		c.Set(requestIDKey, id)
		c.Response().Header().Set("X-Request-Id", id)
		return next(c)
	}
}

func requestID(c echo.Context) string {
	id, _ := c.Get(requestIDKey).(string)
	return id
}

// accessLog writes one line for each request. It leaves out the query, which
// may hold what operators search for in bodies.
func (s *Server) accessLog(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := s.Now()
		if err := next(c); err != nil {
			c.Error(err)
		}
		r := c.Request()
		s.Log.DebugContext(r.Context(), "request served",
			"request_id", requestID(c), "method", r.Method, "route", c.Path(),
			"status", c.Response().Status, "bytes", c.Response().Size,
			"took", s.Now().Sub(start), "actor", actorOf(c).Name)
		return nil
	}
}

// panicked carries a panic's stack to the log; no page shows it.
type panicked struct {
	value any
	stack []byte
}

func (p panicked) Error() string { return fmt.Sprintf("web: panic: %v", p.value) }

func (s *Server) recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				if abort, ok := v.(error); ok && errors.Is(abort, http.ErrAbortHandler) {
					panic(v)
				}
				err = panicked{v, debug.Stack()}
			}
		}()
		return next(c)
	}
}

// logFailure writes what the console itself did wrong, or could not reach.
func (s *Server) logFailure(c echo.Context, status int, err error) {
	r := c.Request()
	attrs := []any{"request_id", requestID(c), "method", r.Method, "route", c.Path(), "status", status, "err", err}
	level := slog.LevelDebug
	switch {
	case errors.Is(err, context.Canceled):
	case status == http.StatusServiceUnavailable:
		level = slog.LevelWarn
	case status >= http.StatusInternalServerError:
		level = slog.LevelError
	}
	if p := (panicked{}); errors.As(err, &p) {
		attrs = append(attrs, "stack", string(p.stack))
	}
	s.Log.Log(r.Context(), level, "request failed", attrs...)
}

// act is who does what the request asks, for the audit.
func (s *Server) act(c echo.Context, reason string) dlq.Act {
	return dlq.Act{Actor: actorOf(c).Name, From: remote(c), Reason: reason, At: s.Now()}
}

// remote is the address the request came from, as the connection has it: what
// proxies say about it is for whoever configures one.
func remote(c echo.Context) string {
	addr := c.Request().RemoteAddr
	if i := strings.LastIndexByte(addr, ':'); i > 0 {
		addr = addr[:i]
	}
	return strings.Trim(addr, "[]")
}

package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
)

const (
	heartbeatEvery = 15 * time.Second
	writeTimeout   = 10 * time.Second // a reader that takes nothing for so long is gone
)

// watch renders one part of a page; "" where it has nothing to say.
type watch struct {
	event  string
	render func(ctx context.Context, p pulse) (templ.Component, error)
	sent   string
}

// events is the stream that keeps a page fresh. What it sends are the same
// parts that the page itself is made of, and only those that changed.
func (s *Server) events(c echo.Context) error {
	pulses, leave, err := s.live.listen()
	if err != nil {
		return err
	}
	defer leave()
	watches, err := s.watches(c)
	if err != nil {
		return err
	}
	w := c.Response()
	w.Header().Set(echo.HeaderContentType, "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out := &stream{w: w, deadline: http.NewResponseController(w.Writer)}
	if err := out.write("retry: 3000\n\n"); err != nil {
		return nil // the reader has left; there is nobody to tell
	}
	s.follow(c.Request().Context(), out, pulses, watches)
	return nil
}

// follow sends until the reader leaves, the console stops or nothing can be
// read any more; browsers come back by themselves.
func (s *Server) follow(ctx context.Context, out *stream, pulses <-chan pulse, watches []*watch) {
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.live.ended:
			return
		case <-beat.C:
			if out.write(": here\n\n") != nil {
				return
			}
		case p := <-pulses:
			for _, w := range watches {
				if err := w.tell(ctx, out, p); err != nil {
					return
				}
			}
		}
	}
}

// tell sends the part if it is not as it was sent last.
func (w *watch) tell(ctx context.Context, out *stream, p pulse) error {
	part, err := w.render(ctx, p)
	if err != nil || part == nil {
		return err
	}
	var b bytes.Buffer
	if err := part.Render(ctx, &b); err != nil {
		return err
	}
	if b.String() == w.sent {
		return nil
	}
	w.sent = b.String()
	return out.event(w.event, w.sent)
}

// stream writes server-sent events.
type stream struct {
	w        *echo.Response
	deadline *http.ResponseController
}

// lines cuts at whatever the protocol takes for the end of a line.
var lines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func (s *stream) event(name, data string) error {
	var b strings.Builder
	b.WriteString("event: " + name + "\n")
	for line := range strings.SplitSeq(lines.Replace(data), "\n") {
		b.WriteString("data: " + line + "\n")
	}
	b.WriteString("\n")
	return s.write(b.String())
}

func (s *stream) write(text string) error {
	// A writer without deadlines, as in tests, is written to all the same.
	_ = s.deadline.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := io.WriteString(s.w, text); err != nil {
		return fmt.Errorf("web: write event: %w", err)
	}
	s.w.Flush()
	return nil
}

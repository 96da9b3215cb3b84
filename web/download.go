package web

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// bodyChunk is how much of a body is in memory while it is sent.
const bodyChunk = 256 << 10

// downloadBody answers with the exact bytes, and makes sure that no browser
// takes them for anything but a file. It reads them from the store while they
// are sent; a part of them may be asked for (Range). Where the store fails in
// between, the connection ends before the length that was promised.
func (s *Server) downloadBody(c echo.Context) error {
	ctx, id := c.Request().Context(), param(c, "id")
	round, err := roundOf(c)
	if err != nil {
		return err
	}
	m, err := s.Messages.Message(ctx, id)
	if err != nil {
		return err
	}
	facts, err := s.Messages.BodyFacts(ctx, m.ID, round)
	if err != nil {
		return err
	}
	name := m.ID
	if round > 0 {
		name += fmt.Sprintf("-%d", round)
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, echo.MIMEOctetStream)
	h.Set(echo.HeaderContentDisposition, fmt.Sprintf("attachment; filename=%q", name+".bin"))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("ETag", `"`+hex.EncodeToString(facts.SHA256)+`"`)
	body := &storedBody{ctx: ctx, from: s.Messages, id: m.ID, round: facts.Round, size: facts.Size}
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, body)
	return body.err
}

// storedBody reads a body of the store from chunk to chunk.
type storedBody struct {
	ctx   context.Context // of the request
	from  bodyReader
	id    string
	round int
	size  int64

	at    int64
	chunk []byte // what was read already, from at on
	err   error
}

var errBodyShort = errors.New("the stored body is shorter than its size says")

// Read returns what comes next of the body.
func (b *storedBody) Read(p []byte) (int, error) {
	if b.at >= b.size {
		return 0, io.EOF
	}
	if len(b.chunk) == 0 {
		b.chunk, b.err = b.from.BodyPart(b.ctx, b.id, b.round, b.at, bodyChunk)
		if b.err == nil && len(b.chunk) == 0 {
			b.err = errBodyShort
		}
		if b.err != nil {
			return 0, b.err
		}
	}
	n := copy(p, b.chunk)
	b.at, b.chunk = b.at+int64(n), b.chunk[n:]
	return n, nil
}

// Seek goes to another place.
func (b *storedBody) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += b.at
	case io.SeekEnd:
		offset += b.size
	}
	if offset < 0 {
		return 0, errors.New("web: seek before the start of a body")
	}
	b.at, b.chunk = offset, nil
	return offset, nil
}

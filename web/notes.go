package web

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// maxNote bounds a note, in characters.
const maxNote = 4000

type noteRow struct {
	At          stamp
	Actor, Text string
}

func (s *Server) addNote(c echo.Context) error {
	text, err := noteText(c.FormValue("text"))
	if err != nil {
		return err
	}
	if err := s.Messages.AddNote(c.Request().Context(), param(c, "id"), text, s.act(c, "")); err != nil {
		return err
	}
	return seeOther(c, s.links.message(param(c, "id"))+"#notes")
}

func noteText(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", invalid("text", "text: an empty note says nothing")
	case utf8.RuneCountInString(text) > maxNote:
		return "", invalid("text", fmt.Sprintf("text: at most %d characters", maxNote))
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", invalid("text", "text: is not text")
	}
	return text, nil
}

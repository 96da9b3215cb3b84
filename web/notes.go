package web

import "github.com/labstack/echo/v4"

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
	return textOf("text", text, "an empty note says nothing", maxNote)
}

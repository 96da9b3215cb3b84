package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

type keyJSON struct {
	Key         string            `json:"key"`
	Seen        string            `json:"seen"`
	Space       string            `json:"space"`
	Type        string            `json:"type"`
	State       keys.State        `json:"state"`
	Stuck       bool              `json:"stuck"`
	Stale       bool              `json:"stale"`
	Value       *string           `json:"value"`
	Fields      map[string]string `json:"fields"`
	AgeSeconds  *float64          `json:"age_seconds"`
	AgeSource   *string           `json:"age_source"`
	TTLSeconds  *float64          `json:"ttl_seconds"`
	Attempts    *int64            `json:"attempts"`
	BusinessKey *string           `json:"business_key"`
	Verdict     replay.Verdict    `json:"verdict"`
	Why         string            `json:"why"`
	Releasable  bool              `json:"releasable"`
	WhyNot      *string           `json:"why_not"`
	Messages    []messageJSON     `json:"messages"`
}

func newKeyJSON(k replay.KeyInspection) keyJSON {
	shape := keyJSON{
		Key: k.Key.Name, Seen: k.Key.Seen, Space: k.Key.Space, Type: k.Key.Type, State: k.Key.State,
		Stuck: k.Stuck, Stale: k.Stale, Value: orNull(k.Key.Value), Fields: k.Key.Fields,
		Attempts: k.Key.Attempts, BusinessKey: orNull(k.BusinessKey), Verdict: k.Decision.Verdict, Why: k.Decision.Why,
		Releasable: k.Releasable, WhyNot: orNull(k.WhyNot), Messages: []messageJSON{},
	}
	shape.times(k.Key)
	for _, m := range k.Messages {
		shape.Messages = append(shape.Messages, newMessageJSON(m))
	}
	return shape
}

func (shape *keyJSON) times(k keys.Key) {
	if age, known := k.Age(); known {
		shape.AgeSeconds, shape.AgeSource = secondsOrNull(&age), orNull(k.SinceFrom)
	}
	if !k.ExpiresAt.IsZero() {
		left := k.ExpiresAt.Sub(k.ReadAt)
		shape.TTLSeconds = secondsOrNull(&left)
	}
}

func (s *Server) apiKey(c echo.Context) error {
	name := c.QueryParam("key")
	if name == "" {
		return badQuery("key", "key: name the key to read, percent-encoded")
	}
	k, err := s.inspect(c, name)
	if err != nil {
		return err
	}
	return ok(c, newKeyJSON(k))
}

// beforeJSON is a key as it was just before its release.
type beforeJSON struct {
	Key    string            `json:"key"`
	Type   *string           `json:"type"`
	State  *keys.State       `json:"state"`
	Value  *string           `json:"value"`
	Fields map[string]string `json:"fields"`
}

func (s *Server) apiReleaseKey(c echo.Context) error {
	var in struct {
		Key    string `json:"key"`
		Seen   string `json:"seen"`
		Reason string `json:"reason"`
	}
	if err := readJSON(c, &in); err != nil {
		return err
	}
	if in.Key == "" {
		return invalid("key", "key: name the key to release")
	}
	reason, err := reasonOf(in.Reason)
	if err != nil {
		return err
	}
	result, k, err := s.Replays.ReleaseKey(c.Request().Context(), in.Key, in.Seen, s.act(c, reason))
	if err != nil {
		return err
	}
	before := beforeJSON{in.Key, orNull(k.Type), orNull(k.State), orNull(k.Value), k.Fields}
	if status := statusOfRelease(result); status != http.StatusOK {
		return s.releaseRefused(c, status, result, before)
	}
	return ok(c, map[string]any{"result": result, "before": before})
}

// releaseRefused is a problem that has the members of a release, too.
func (s *Server) releaseRefused(c echo.Context, status int, result keys.ReleaseResult, before beforeJSON) error {
	code := "key_changed"
	switch result {
	case keys.Protected:
		code = "key_protected"
	case keys.TooYoung:
		code = "key_too_young"
	}
	c.Response().Header().Set(echo.HeaderContentType, "application/problem+json")
	return writeJSON(c, status, map[string]any{
		"type": "about:blank", "title": http.StatusText(status), "status": status, "code": code,
		"detail": s.texts.in("en").T("release." + string(result) + ".text"), "request_id": requestID(c),
		"result": result, "before": before,
	})
}

package web

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// manyPreflighter counts what a replay of many would meet.
type manyPreflighter interface {
	PreflightMany(ctx context.Context, ids []string) (replay.Counts, error)
}

type preflightJSON struct {
	MessageID      string           `json:"message_id"`
	Verdict        replay.Verdict   `json:"verdict"`
	Why            string           `json:"why"`
	Consent        replay.Consent   `json:"consent"`
	Guards         []guardJSON      `json:"guards"`
	Destination    *destinationJSON `json:"destination"`
	Releasable     []releasableJSON `json:"releasable"`
	AfterRelease   *replay.Verdict  `json:"after_release"`
	NewerSucceeded []string         `json:"newer_succeeded"`
	PossibleCopy   bool             `json:"possible_copy"`
	Lookalikes     []lookalikeJSON  `json:"lookalikes"`
	Override       []replay.Verdict `json:"override"`
	ReadAt         *time.Time       `json:"read_at"`
}

type guardJSON struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Says       string   `json:"says"`
	Key        *string  `json:"key"`
	State      *string  `json:"state"`
	AgeSeconds *float64 `json:"age_seconds"`
	AgeSource  *string  `json:"age_source"`
	TTLSeconds *float64 `json:"ttl_seconds"`
	Evidence   *string  `json:"evidence"`
	Seen       *string  `json:"seen"`
	Problem    *string  `json:"problem"`
}

type destinationJSON struct {
	Route      replay.Route `json:"route"`
	Exchange   string       `json:"exchange"` // "": the default exchange
	RoutingKey string       `json:"routing_key"`
	Queue      *string      `json:"queue"`
	Why        string       `json:"why"`
	Warnings   []string     `json:"warnings"`
}

type releasableJSON struct {
	Key  string `json:"key"`
	Seen string `json:"seen"`
}

func newPreflightJSON(p replay.Preflight) preflightJSON {
	shape := preflightJSON{
		MessageID: p.MessageID, Verdict: p.Verdict, Why: p.Why, Consent: p.Consent, Guards: []guardJSON{},
		Destination: newDestinationJSON(p.Destination), Releasable: []releasableJSON{},
		AfterRelease: orNull(p.AfterRelease), NewerSucceeded: append([]string{}, p.NewerSucceeded...), ReadAt: timeOrNull(p.ReadAt),
		PossibleCopy: p.PossibleCopy, Lookalikes: newLookalikesJSON(p.Lookalikes), Override: append([]replay.Verdict{}, p.Words()...),
	}
	for _, g := range p.Guards {
		shape.Guards = append(shape.Guards, guardJSON{
			g.Name, g.Kind, g.Says, orNull(g.Key), orNull(g.State), secondsOrNull(g.Age), orNull(g.AgeSource),
			secondsOrNull(g.TTL), orNull(g.Evidence), orNull(g.Seen), orNull(g.Problem),
		})
	}
	for _, k := range p.Releasable {
		shape.Releasable = append(shape.Releasable, releasableJSON{k.Name, k.Seen})
	}
	return shape
}

// newDestinationJSON is null where it is not known where the message came from.
func newDestinationJSON(d replay.Destination) *destinationJSON {
	if d.Queue == "" && d.Exchange == "" && d.RoutingKey == "" {
		return nil
	}
	return &destinationJSON{d.Route, d.Exchange, d.RoutingKey, orNull(d.Queue), d.Why, append([]string{}, d.Warnings...)}
}

func (s *Server) apiPreflight(c echo.Context) error {
	p, err := s.Replays.Preflight(c.Request().Context(), param(c, "id"), replay.Route(c.QueryParam("route")))
	if err != nil {
		return err
	}
	return ok(c, newPreflightJSON(p))
}

func (s *Server) apiPreflightMany(c echo.Context) error {
	var in struct {
		Selection *selectionJSON `json:"selection"`
	}
	if err := readJSON(c, &in); err != nil {
		return err
	}
	ids, err := s.selected(c.Request().Context(), in.Selection)
	if err != nil {
		return err
	}
	counts, err := s.Replays.PreflightMany(c.Request().Context(), ids)
	if err != nil {
		return err
	}
	destinations := []*destinationJSON{}
	for _, d := range counts.Destinations {
		destinations = append(destinations, newDestinationJSON(d))
	}
	verdicts := counts.Verdicts
	if verdicts == nil {
		verdicts = map[replay.Verdict]int{}
	}
	return ok(c, map[string]any{
		"total": counts.Total, "verdicts": verdicts, "destinations": destinations, "left": counts.Left,
		"possible_copies": counts.PossibleCopies,
	})
}

package web

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

func (s *Server) apiReplay(c echo.Context) error {
	var in struct {
		Reason      string           `json:"reason"`
		ReleaseKeys []releasableJSON `json:"release_keys"`
		Override    []replay.Verdict `json:"override"`
		Route       replay.Route     `json:"route"`
	}
	if err := readJSON(c, &in); err != nil {
		return err
	}
	if len(in.ReleaseKeys) > 0 {
		if err := may(c, "release"); err != nil {
			return err
		}
	}
	reason, err := reasonOf(in.Reason)
	if err != nil {
		return err
	}
	if err := areVerdicts(in.Override); err != nil {
		return err
	}
	act := s.act(c, reason)
	r := replay.Request{
		MessageID: param(c, "id"), Actor: act.Actor, From: act.From, Reason: reason, At: act.At,
		Override: in.Override, Route: in.Route,
	}
	for _, k := range in.ReleaseKeys {
		r.ReleaseKeys = append(r.ReleaseKeys, replay.Release(k))
	}
	result, err := s.Replays.Replay(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return ok(c, newReplayResultJSON(result))
}

type replayResultJSON struct {
	ReplayID      int64                 `json:"replay_id,string"`
	Attempt       replay.AttemptState   `json:"attempt"`
	Outcome       *replay.Outcome       `json:"outcome"`
	OutcomeSource *replay.OutcomeSource `json:"outcome_source"`
	Detail        *string               `json:"detail"`
	Verdict       replay.Verdict        `json:"verdict"`
	Released      []replay.ReleasedKey  `json:"released"`
}

func newReplayResultJSON(r replay.Result) replayResultJSON {
	return replayResultJSON{
		r.ReplayID, r.Attempt, orNull(r.Outcome), orNull(r.OutcomeSource), orNull(r.Detail), r.Verdict,
		append([]replay.ReleasedKey{}, r.Released...),
	}
}

func (s *Server) apiSettle(c echo.Context) error {
	var in struct {
		As     string `json:"as"`
		Reason string `json:"reason"`
	}
	if err := readJSON(c, &in); err != nil {
		return err
	}
	if err := s.settleAs(c, in.As, in.Reason); err != nil {
		return err
	}
	m, err := s.Messages.Message(c.Request().Context(), param(c, "id"))
	if err != nil {
		return err
	}
	return ok(c, map[string]any{"id": m.ID, "state": m.State})
}

type replayJSON struct {
	ID          int64                       `json:"id,string"`
	State       string                      `json:"state"`
	WhyStopped  *string                     `json:"why_stopped"`
	Query       *string                     `json:"query"`
	By          string                      `json:"by"`
	Reason      string                      `json:"reason"`
	CreatedAt   *time.Time                  `json:"created_at"`
	EndedAt     *time.Time                  `json:"ended_at"`
	Pace        *float64                    `json:"pace"`
	Canary      *json.RawMessage            `json:"canary"`
	Step        *int                        `json:"step"`
	Total       int                         `json:"total"`
	Attempts    map[replay.AttemptState]int `json:"attempts"`
	Outcomes    map[replay.Outcome]int      `json:"outcomes"`
	LeftOut     map[string]int              `json:"left_out"`
	Rate        *float64                    `json:"rate"`
	SecondsLeft *float64                    `json:"seconds_left"`
}

// newReplayJSON leaves null what only replays of many have.
func newReplayJSON(r replay.Summary) replayJSON {
	shape := replayJSON{
		ID: r.ID, State: r.State, WhyStopped: orNull(r.WhyStopped), Query: orNull(r.Query), By: r.Actor, Reason: r.Reason,
		CreatedAt: timeOrNull(r.CreatedAt), EndedAt: timeOrNull(r.EndedAt), Total: r.Total,
		Attempts: r.Attempts, Outcomes: r.Outcomes, LeftOut: map[string]int{},
	}
	if shape.Attempts == nil {
		shape.Attempts = map[replay.AttemptState]int{}
	}
	if shape.Outcomes == nil {
		shape.Outcomes = map[replay.Outcome]int{}
	}
	return shape
}

func (s *Server) apiReplays(c echo.Context) error {
	before, err := positionOf(c, "cursor")
	if err != nil {
		return err
	}
	n, err := limit(c.QueryParam("limit"))
	if err != nil {
		return err
	}
	list, next, err := s.Replays.List(c.Request().Context(), before, n)
	if err != nil {
		return err
	}
	items := make([]replayJSON, len(list))
	for i, r := range list {
		items[i] = newReplayJSON(r)
	}
	return ok(c, listOf(items, position(next), nil))
}

// position is a numeric place in a list as a cursor.
func position(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func (s *Server) apiReplayed(c echo.Context) error {
	id, err := replayID(c)
	if err != nil {
		return err
	}
	r, err := s.Replays.Replayed(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return ok(c, newReplayJSON(r))
}

type itemJSON struct {
	ReplayID      int64                 `json:"replay_id,string"`
	MessageID     string                `json:"message_id"`
	Round         int                   `json:"round"`
	BusinessKey   *string               `json:"business_key"`
	Verdict       replay.Verdict        `json:"verdict"`
	Attempt       replay.AttemptState   `json:"attempt"`
	Outcome       *replay.Outcome       `json:"outcome"`
	OutcomeSource *replay.OutcomeSource `json:"outcome_source"`
	Detail        *string               `json:"detail"`
	Destination   *destinationJSON      `json:"destination"`
	Evidence      json.RawMessage       `json:"evidence"`
	Released      json.RawMessage       `json:"released"`
	ClaimedAt     *time.Time            `json:"claimed_at"`
	SentAt        *time.Time            `json:"sent_at"`
	SettledAt     *time.Time            `json:"settled_at"`
}

func newItemJSON(i replay.Item) itemJSON {
	return itemJSON{
		i.ReplayID, i.MessageID, i.Round, orNull(i.BusinessKey), i.Verdict, i.Attempt, orNull(i.Outcome),
		orNull(i.OutcomeSource), orNull(i.Detail),
		newDestinationJSON(replay.Destination{Route: i.Route, Exchange: i.ToExchange, RoutingKey: i.ToRoutingKey, Queue: i.ToQueue}),
		i.Evidence, i.Released, timeOrNull(i.ClaimedAt), timeOrNull(i.SentAt), timeOrNull(i.SettledAt),
	}
}

func (s *Server) apiReplayItems(c echo.Context) error {
	id, err := replayID(c)
	if err != nil {
		return err
	}
	n, err := limit(c.QueryParam("limit"))
	if err != nil {
		return err
	}
	if _, err := s.Replays.Replayed(c.Request().Context(), id); err != nil {
		return err
	}
	list, next, err := s.Replays.Items(c.Request().Context(), id, c.QueryParam("cursor"), n)
	if err != nil {
		return err
	}
	items := make([]itemJSON, len(list))
	for i, item := range list {
		items[i] = newItemJSON(item)
	}
	return ok(c, listOf(items, next, nil))
}

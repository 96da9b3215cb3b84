package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// reporter takes what a consumer says became of a replayed message.
type reporter interface {
	Report(ctx context.Context, r keys.Report) error
}

type sourceJSON struct {
	Name          string          `json:"name"`
	Queue         string          `json:"queue"`
	Broker        string          `json:"broker"`
	State         dlq.SourceState `json:"state"`
	Why           *string         `json:"why"`
	Paused        bool            `json:"paused"`
	PausedBy      *string         `json:"paused_by"`
	PausedAt      *time.Time      `json:"paused_at"`
	Depth         depthJSON       `json:"depth"`
	Quarantined   int64           `json:"quarantined"`
	OldestOpenAt  *time.Time      `json:"oldest_open_at"`
	LastDrainedAt *time.Time      `json:"last_drained_at"`
	Warnings      []string        `json:"warnings"`
	Hazards       []hazardJSON    `json:"hazards"`
	ConfirmedBy   *string         `json:"confirmed_by"`
	ConfirmedAt   *time.Time      `json:"confirmed_at"`
}

type hazardJSON struct {
	ID        string  `json:"id"`
	Kind      string  `json:"kind"`
	Detail    *string `json:"detail"`
	Confirmed bool    `json:"confirmed"`
}

type depthJSON struct {
	Open    int64  `json:"open"`
	Ready   *int64 `json:"ready"`
	Unacked *int64 `json:"unacked"`
}

func newSourceJSON(s dlq.SourceStatus, f dlq.SourceFigures) sourceJSON {
	hazards := make([]hazardJSON, len(s.Hazards))
	for i, h := range s.Hazards {
		hazards[i] = hazardJSON{h.ID(), h.Kind, orNull(h.Detail), h.Confirmed}
	}
	return sourceJSON{
		s.Name, s.Queue, s.Broker, s.State, orNull(s.Why), s.Paused, orNull(s.PausedBy), timeOrNull(s.PausedAt),
		depthJSON{f.Open, s.Ready, s.Unacked},
		f.Quarantined, timeOrNull(f.OldestOpen),
		timeOrNull(lastDrained(s, f)), append([]string{}, s.Warnings...),
		hazards, orNull(s.ConfirmedBy), timeOrNull(s.ConfirmedAt),
	}
}

func (s *Server) apiSources(c echo.Context) error {
	counts, err := s.Messages.OpenCounts(c.Request().Context())
	if err != nil {
		return err
	}
	items := []sourceJSON{}
	for _, status := range s.Sources.Statuses() {
		items = append(items, newSourceJSON(status, counts[status.Name]))
	}
	return ok(c, listOf(items, "", complete(items)))
}

func (s *Server) apiPause(c echo.Context) error  { return s.apiTurn(c, s.Sources.Pause) }
func (s *Server) apiResume(c echo.Context) error { return s.apiTurn(c, s.Sources.Resume) }

// apiTurn pauses or resumes, with a reason as the pages ask for.
func (s *Server) apiTurn(c echo.Context, do func(context.Context, string, dlq.Act) error) error {
	var in struct {
		Reason string `json:"reason"`
	}
	if err := readOptionalJSON(c, &in); err != nil {
		return err
	}
	return s.apiTurned(c, in.Reason, do)
}

// apiConfirm lets a source be drained in spite of what was found out about its
// queue: of the hazards given, or of all that there are.
func (s *Server) apiConfirm(c echo.Context) error {
	var in struct {
		Reason  string   `json:"reason"`
		Hazards []string `json:"hazards"`
	}
	if err := readOptionalJSON(c, &in); err != nil {
		return err
	}
	return s.apiTurned(c, in.Reason, s.confirming(in.Hazards))
}

func (s *Server) apiTurned(c echo.Context, reason string, do func(context.Context, string, dlq.Act) error) error {
	status, err := s.turnSource(c, reason, do)
	if err != nil {
		return err
	}
	counts, err := s.Messages.OpenCounts(c.Request().Context())
	if err != nil {
		return err
	}
	if status, err = s.statusOf(status.Name); err != nil {
		return err
	}
	return ok(c, newSourceJSON(status, counts[status.Name]))
}

// looseID takes a number or text: consumers have the id of a replay from a
// header, which is text.
type looseID string

// UnmarshalJSON takes a number or a string of digits.
func (id *looseID) UnmarshalJSON(src []byte) error {
	text := string(src)
	if src[0] == '"' {
		if err := json.Unmarshal(src, &text); err != nil {
			return err
		}
	}
	if _, err := strconv.ParseInt(text, 10, 64); err != nil {
		return invalid("replay_id", "replay_id: takes the id of a replay")
	}
	*id = looseID(text)
	return nil
}

func (s *Server) apiOutcome(c echo.Context) error {
	var in struct {
		MessageID string     `json:"message_id"`
		ReplayID  looseID    `json:"replay_id"`
		Outcome   string     `json:"outcome"`
		Detail    *string    `json:"detail"`
		At        *time.Time `json:"at"`
	}
	if err := readJSON(c, &in); err != nil {
		return err
	}
	r := keys.Report{MessageID: in.MessageID, ReplayID: string(in.ReplayID), Outcome: in.Outcome, At: s.Now()}
	if in.Detail != nil {
		r.Detail = *in.Detail
	}
	if in.At != nil {
		r.At = *in.At
	}
	if !r.Valid() {
		return invalid("outcome", fmt.Sprintf("outcome: message_id, replay_id and an outcome of %s, %s, %s or %s are needed",
			keys.ReportProcessed, keys.ReportDuplicate, keys.ReportGuardRefused, keys.ReportFailed))
	}
	if err := s.Replays.Report(c.Request().Context(), r); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

type entryJSON struct {
	At          *time.Time `json:"at"`
	Actor       string     `json:"actor"`
	From        *string    `json:"from"`
	Act         string     `json:"act"`
	Object      string     `json:"object"`
	OperationID *string    `json:"operation_id"`
	Reason      *string    `json:"reason"`
	Result      string     `json:"result"`
}

func newEntryJSON(e audit.Entry) entryJSON {
	return entryJSON{
		timeOrNull(e.At), e.Actor, orNull(e.From), e.Act, e.Object, orNull(e.OperationID), orNull(e.Reason), e.Result,
	}
}

func (s *Server) apiAudit(c echo.Context) error {
	f, err := auditFilter(c)
	if err != nil {
		return err
	}
	if f.Before == 0 {
		if f.Before, err = positionOf(c, "cursor"); err != nil {
			return err
		}
	}
	page, err := s.Audit.List(c.Request().Context(), f)
	if err != nil {
		return err
	}
	items := make([]entryJSON, len(page.Entries))
	for i, e := range page.Entries {
		items[i] = newEntryJSON(e)
	}
	return ok(c, listOf(items, position(page.Next), nil))
}

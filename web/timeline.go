package web

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/audit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// eventJSON is one event in the life of a message.
type eventJSON struct {
	At       *time.Time `json:"at"`
	Kind     string     `json:"kind"` // died, drained, replay, outcome, note or act
	Round    *int       `json:"round,omitempty"`
	ReplayID *int64     `json:"replay_id,string,omitempty"`
	By       *string    `json:"by,omitempty"`
	What     *string    `json:"what,omitempty"` // the reason, the attempt, the outcome, the act
	Detail   *string    `json:"detail,omitempty"`

	place int64 // in its strand
}

// strands are what a timeline is twisted of; each has an order of its own.
const (
	strandLives = iota
	strandAttempts
	strandNotes
	strandActs
	strands
)

// timelinePlace is how far a timeline was read: the place of the last event of
// each strand. A place is twice the number of the life, replay, note or entry,
// and one more for the second event that it has.
type timelinePlace [strands]int64

// from is the number after which a strand is read on; the event at hand may
// have a second one, so that its own number is read again.
func (p timelinePlace) from(strand int) int64 { return max(p[strand]/2-1, 0) }

func (p timelinePlace) String() string {
	var raw []byte
	for _, n := range p {
		raw = binary.AppendUvarint(raw, uint64(n))
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func parseTimelinePlace(s string) (timelinePlace, error) {
	var p timelinePlace
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return p, dlq.ErrBadCursor
	}
	for i := range p {
		n, size := binary.Uvarint(raw)
		if size <= 0 || n > 1<<62 || i == strandLives && n > 1<<31 {
			return p, dlq.ErrBadCursor
		}
		p[i], raw = int64(n), raw[size:]
	}
	if len(raw) > 0 {
		return p, dlq.ErrBadCursor
	}
	return p, nil
}

func (s *Server) apiTimeline(c echo.Context) error {
	ctx := c.Request().Context()
	m, err := s.Messages.Message(ctx, param(c, "id"))
	if err != nil {
		return err
	}
	n, err := limit(c.QueryParam("limit"))
	if err != nil {
		return err
	}
	var place timelinePlace
	if at := c.QueryParam("cursor"); at != "" {
		if place, err = parseTimelinePlace(at); err != nil {
			return err
		}
	}
	events, more, err := s.timeline(ctx, m.ID, &place, n)
	if err != nil {
		return err
	}
	next := ""
	if more {
		next = place.String()
	}
	return ok(c, listOf(events, next, nil))
}

// timeline returns the next events of a message, at most n and the oldest
// first, moves place behind them and says whether there are more. Each strand
// is read only as far as the page may need.
func (s *Server) timeline(ctx context.Context, id string, place *timelinePlace, n int) ([]eventJSON, bool, error) {
	all, err := s.strandsOf(ctx, id, *place, n+2)
	if err != nil {
		return nil, false, err
	}
	var events []eventJSON
	for {
		next := earliest(all)
		if next < 0 || len(events) == n {
			return events, next >= 0, nil
		}
		e := all[next][0]
		all[next], place[next] = all[next][1:], e.place
		events = append(events, e)
	}
}

// earliest returns the strand whose next event happened first, -1 where none
// has any.
func earliest(all [strands][]eventJSON) int {
	found := -1
	for i, events := range all {
		if len(events) > 0 && (found < 0 || events[0].when().Before(all[found][0].when())) {
			found = i
		}
	}
	return found
}

func (s *Server) strandsOf(ctx context.Context, id string, at timelinePlace, n int) (all [strands][]eventJSON, err error) {
	lives, err := s.Messages.LivesAfter(ctx, id, int(at.from(strandLives)), n)
	if err != nil {
		return all, err
	}
	attempts, err := s.Replays.AttemptsAfter(ctx, id, at.from(strandAttempts), n)
	if err != nil {
		return all, err
	}
	notes, err := s.Messages.NotesAfter(ctx, id, at.from(strandNotes), n)
	if err != nil {
		return all, err
	}
	acts, err := s.Audit.About(ctx, aboutMessage+id, at.from(strandActs), n)
	if err != nil {
		return all, err
	}
	all = [strands][]eventJSON{lifeEvents(lives), attemptEvents(attempts), noteEvents(notes), actEvents(acts)}
	for i := range all {
		for len(all[i]) > 0 && all[i][0].place <= at[i] {
			all[i] = all[i][1:]
		}
	}
	return all, nil
}

func (e eventJSON) when() time.Time {
	if e.At == nil {
		return time.Time{}
	}
	return *e.At
}

func lifeEvents(lives []dlq.Life) []eventJSON {
	var events []eventJSON
	for _, l := range lives {
		place := 2 * int64(l.Round)
		if l.DiedAtKnown {
			events = append(events, eventJSON{place: place, At: timeOrNull(l.DiedAt), Kind: "died", Round: &l.Round, What: orNull(string(l.Reason)), Detail: orNull(l.Failure.Type)})
		}
		events = append(events, eventJSON{place: place + 1, At: timeOrNull(l.DrainedAt), Kind: "drained", Round: &l.Round, ReplayID: orNull(l.ReplayID)})
	}
	return events
}

func attemptEvents(items []replay.Item) []eventJSON {
	var events []eventJSON
	for _, i := range items {
		place := 2 * i.ReplayID
		events = append(events, eventJSON{place: place, At: timeOrNull(i.ClaimedAt), Kind: "replay", Round: &i.Round, ReplayID: &i.ReplayID, What: orNull(string(i.Attempt))})
		if i.Outcome != "" && i.Outcome != replay.Awaited {
			events = append(events, eventJSON{
				place: place + 1, At: timeOrNull(i.SettledAt), Kind: "outcome", Round: &i.Round, ReplayID: &i.ReplayID,
				What: orNull(string(i.Outcome)), Detail: orNull(i.Detail),
			})
		}
	}
	return events
}

func noteEvents(notes []dlq.Note) []eventJSON {
	var events []eventJSON
	for _, n := range notes {
		events = append(events, eventJSON{place: 2 * n.ID, At: timeOrNull(n.At), Kind: "note", By: orNull(n.Actor), Detail: orNull(n.Text)})
	}
	return events
}

func actEvents(entries []audit.Entry) []eventJSON {
	var events []eventJSON
	for _, e := range entries {
		events = append(events, eventJSON{place: 2 * e.ID, At: timeOrNull(e.At), Kind: "act", By: orNull(e.Actor), What: orNull(e.Act), Detail: orNull(e.Result)})
	}
	return events
}

package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// bad is a request that cannot be taken as it is. Detail is for the sender and
// names the field.
type bad struct {
	status int // 400 malformed, 422 well formed and yet not acceptable
	code   string
	field  string
	detail string
}

func (b bad) Error() string { return "web: " + b.detail }

func malformed(field, detail string) error {
	return bad{http.StatusBadRequest, "bad_request", field, detail}
}

func invalid(field, detail string) error {
	return bad{http.StatusUnprocessableEntity, "invalid", field, detail}
}

func badQuery(field, detail string) error {
	return bad{http.StatusBadRequest, "bad_query", field, detail}
}

// failure is the status and the code that an error is answered with.
type failure struct {
	status int
	code   string
}

// The one table of errors and their answers; the first that matches wins.
var failures = []struct {
	err error
	failure
}{
	{dlq.ErrNotFound, failure{http.StatusNotFound, "not_found"}},
	{dlq.ErrBadState, failure{http.StatusConflict, "bad_state"}},
	{dlq.ErrNotMarked, failure{http.StatusConflict, "not_marked"}},
	{dlq.ErrNothingToConfirm, failure{http.StatusConflict, "nothing_to_confirm"}},
	{dlq.ErrNewHazard, failure{http.StatusConflict, "new_hazard"}},
	{dlq.ErrBadCursor, failure{http.StatusBadRequest, "bad_cursor"}},
	{replay.ErrClaimLost, failure{http.StatusConflict, "claim_lost"}},
	{replay.ErrKeyChanged, failure{http.StatusConflict, "key_changed"}},
	{replay.ErrNoDestination, failure{http.StatusConflict, "no_destination"}},
	{replay.ErrNotUnknown, failure{http.StatusConflict, "not_unknown"}},
	{keys.ErrBadSeen, failure{http.StatusBadRequest, "bad_seen"}},
	{keys.ErrNoSpace, failure{http.StatusNotFound, "no_key_space"}},
	{keys.ErrReleaseUnknown, failure{http.StatusServiceUnavailable, "release_unknown"}},
	{keys.ErrRefused, failure{http.StatusServiceUnavailable, "redis_refuses"}}, // before what comes with it
	{keys.ErrUnavailable, failure{http.StatusServiceUnavailable, "redis_unavailable"}},
	{rabbit.ErrUnavailable, failure{http.StatusServiceUnavailable, "broker_unavailable"}},
	{rabbit.ErrBlocked, failure{http.StatusServiceUnavailable, "broker_unavailable"}},
	{replay.ErrNoEvidence, failure{http.StatusServiceUnavailable, "probe_unavailable"}},
	{replay.ErrNotSent, failure{http.StatusConflict, "not_sent"}}, // after what may have caused it
	{replay.ErrNotAgreed, failure{http.StatusConflict, "not_agreed"}},
	{replay.ErrNoUnit, failure{http.StatusConflict, "no_unit"}},
	{replay.ErrPossibleCopy, failure{http.StatusConflict, "possible_copy"}},
	{replay.ErrNotItsKey, failure{http.StatusUnprocessableEntity, "not_its_key"}},
	{replay.ErrNotReleasable, failure{http.StatusConflict, "not_releasable"}},
	{replay.ErrNoReason, failure{http.StatusUnprocessableEntity, "no_reason"}},
	{replay.ErrBadRoute, failure{http.StatusUnprocessableEntity, "bad_route"}},
	{errForeignHost, failure{http.StatusForbidden, "foreign_host"}},
	{errForeignOrigin, failure{http.StatusForbidden, "foreign_origin"}},
	{errTooManyStreams, failure{http.StatusServiceUnavailable, "too_many_streams"}},
	{context.DeadlineExceeded, failure{http.StatusServiceUnavailable, "timeout"}},
}

// failureOf returns how err is answered. What is not in the table is the
// console's own fault.
func failureOf(err error) failure {
	if b := (bad{}); errors.As(err, &b) {
		return failure{b.status, b.code}
	}
	if f := (forbidden{}); errors.As(err, &f) {
		return failure{http.StatusForbidden, "forbidden"}
	}
	if u := (unauthenticated{}); errors.As(err, &u) {
		return failure{http.StatusUnauthorized, "unauthenticated"}
	}
	for _, f := range failures {
		if errors.Is(err, f.err) {
			return f.failure
		}
	}
	if databaseDown(err) {
		return failure{http.StatusServiceUnavailable, "database_unavailable"}
	}
	if h := (*echo.HTTPError)(nil); errors.As(err, &h) {
		return failure{h.Code, codeOfStatus(h.Code)}
	}
	return failure{http.StatusInternalServerError, "internal"}
}

// databaseDown reports that the database cannot be reached, or answers that it
// cannot do the work now: read-only, out of resources, shutting down, or not in
// time.
func databaseDown(err error) bool {
	if p := (*pgconn.ConnectError)(nil); errors.As(err, &p) {
		return true
	}
	p := (*pgconn.PgError)(nil)
	if !errors.As(err, &p) {
		return false
	}
	switch p.Code {
	case "25006", "57014", "55P03": // read-only, cancelled by its timeout, lock not had in time
		return true
	}
	return strings.HasPrefix(p.Code, "53") || strings.HasPrefix(p.Code, "57P0")
}

func codeOfStatus(status int) string {
	switch status {
	case http.StatusNotFound:
		return "not_found"
	case http.StatusMethodNotAllowed:
		return "method_not_allowed"
	case http.StatusRequestEntityTooLarge:
		return "too_large"
	case http.StatusUnsupportedMediaType:
		return "unsupported_media_type"
	}
	if status < http.StatusInternalServerError {
		return "bad_request"
	}
	return "internal"
}

// fail answers a request whose handler returned err: a problem document to
// programs, a page to people. Both say what happened; the cause of the
// console's own faults goes to the log only.
func (s *Server) fail(err error, c echo.Context) {
	f := failureOf(err)
	s.logFailure(c, f.status, err)
	if c.Response().Committed {
		return
	}
	answer := s.failPage
	if strings.HasPrefix(c.Request().URL.Path, s.links.base+"/api/") {
		answer = s.problem
	}
	if err := answer(c, f, err); err != nil {
		s.logFailure(c, http.StatusInternalServerError, err)
		c.Response().WriteHeader(f.status)
	}
}

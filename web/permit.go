package web

import (
	"fmt"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/auth"
)

const actorKey = "actor"

// forbidden is the answer to an actor whose roles do not grant what is needed.
type forbidden struct {
	needs auth.Permission
	actor auth.Actor
}

func (f forbidden) Error() string {
	return fmt.Sprintf("web: %s may not %s", f.actor.Name, f.needs)
}

// unauthenticated is the answer to a request that does not say who sent it.
type unauthenticated struct{ err error }

func (u unauthenticated) Error() string { return "web: who are you: " + u.err.Error() }
func (u unauthenticated) Unwrap() error { return u.err }

// permit lets a request pass whose actor may do what needs says.
func (s *Server) permit(needs auth.Permission) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			actor, err := s.Actor(c.Request())
			switch {
			case err == nil:
				c.Set(actorKey, actor)
			case needs != public:
				return unauthenticated{err}
			}
			if err := may(c, needs); err != nil {
				return err
			}
			return next(c)
		}
	}
}

// may returns forbidden unless the request's actor has the permission. Handlers
// ask it where the body of a request, not its route, says what is needed.
func may(c echo.Context, needs auth.Permission) error {
	if actor := actorOf(c); needs != public && !actor.May(needs) {
		return forbidden{needs, actor}
	}
	return nil
}

// actorOf returns who sent the request; the zero Actor, who may do nothing,
// where that is not known.
func actorOf(c echo.Context) auth.Actor {
	actor, _ := c.Get(actorKey).(auth.Actor)
	return actor
}

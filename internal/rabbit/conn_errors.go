package rabbit

import (
	"errors"
	"fmt"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// refusal is ErrUnavailable with the reason why.
type refusal struct {
	kind   error // one of those that say a reason
	detail string
}

// Error implements error.
func (r refusal) Error() string { return r.kind.Error() + ": " + r.detail }

// Is makes it both errors for errors.Is.
func (r refusal) Is(target error) bool { return target == r.kind || target == ErrUnavailable }

// dialError turns what a connection attempt came back with into an error that
// callers can tell apart.
func dialError(err error) error {
	var e *amqp.Error
	switch {
	case errors.Is(err, amqp.ErrCredentials):
		return refusal{ErrAccessRefused, "the connection was dropped during login, as brokers do for a wrong user name or password"}
	case errors.Is(err, amqp.ErrSASL):
		return refusal{ErrAccessRefused, "the broker takes none of the ways to log in that the URL allows"}
	case errors.As(err, &e) && e.Server:
		return serverError(e)
	}
	return refusal{ErrUnreachable, err.Error()}
}

// callError turns what a call on a channel came back with into an error that
// callers can tell apart.
func callError(err error) error {
	var e *amqp.Error
	switch {
	case !errors.As(err, &e):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case unreadable(e):
		return fmt.Errorf("%w: %s", ErrPoison, e.Reason)
	}
	return serverError(e)
}

// serverError says what the broker means by a code and a text.
func serverError(e *amqp.Error) error {
	if e.Code == amqp.NotFound && !strings.Contains(e.Reason, "home node") {
		return fmt.Errorf("%w: %s", ErrQueueMissing, e.Reason)
	}
	if kind := reasonOf(e); kind != nil {
		return refusal{kind, e.Reason}
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, e.Reason)
}

// reasonOf returns the error that says why the broker refuses, or nil. The
// codes are those of AMQP; where one means several things, RabbitMQ's text tells.
func reasonOf(e *amqp.Error) error {
	has := func(text string) bool { return strings.Contains(e.Reason, text) }
	switch {
	case !e.Server:
		return nil
	case e.Code == amqp.InternalError && strings.HasSuffix(e.Reason, "is down"):
		return ErrVhostDown
	case e.Code == amqp.ResourceLocked, e.Code == amqp.AccessRefused && strings.HasSuffix(e.Reason, "in exclusive use"):
		return ErrLocked
	case e.Code == amqp.AccessRefused:
		return ErrAccessRefused
	case e.Code == amqp.NotAllowed:
		return notAllowed(has)
	case e.Code == amqp.PreconditionFailed && has("timed out"):
		return ErrConsumerTimeout
	case has("stream") && (e.Code == amqp.PreconditionFailed || e.Code == amqp.NotImplemented):
		return ErrWrongType
	}
	return nil
}

func notAllowed(has func(text string) bool) error {
	switch {
	case has("not found"):
		return ErrVhostMissing
	case has("limit"):
		return ErrLimit
	}
	return ErrAccessRefused
}

// unreadable reports whether the client library gave up on what the broker
// sent. It wraps every end of a connection in code 501, a lost socket too, so
// that only the text tells them apart.
func unreadable(e *amqp.Error) bool {
	return !e.Server && e.Code == amqp.FrameError &&
		(strings.Contains(e.Reason, amqp.ErrFrameTooLarge.Reason) || strings.Contains(e.Reason, amqp.ErrSyntax.Reason))
}

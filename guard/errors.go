package guard

import (
	"errors"
	"fmt"
)

// Names that the package itself writes to x-exception-type.
const (
	TypeKeyHeld       = "guard.KeyHeld"
	TypeKeyUnreadable = "guard.KeyUnreadable"
	TypeNoBusinessKey = "guard.NoBusinessKey"
	TypePanic         = "guard.Panic"
)

// Unrecoverable marks err as one that no later run can cure: the message goes
// to the terminal address at once.
func Unrecoverable(err error) error { return &unrecoverable{err} }

// Duplicate says that the named guard of the handler found the work already
// done. The delivery is acked and the key marked as for a success, since it
// is one; logs, metrics and the report name the guard.
func Duplicate(guard string) error { return &duplicate{guard} }

// Refused says that the named guard of the handler refuses the message for
// good, because of err. It is unrecoverable.
func Refused(guard string, err error) error { return &refused{guard, err} }

// Typed gives err the name that is written to x-exception-type. Without one
// the Go type of the innermost error is written.
func Typed(name string, err error) error { return &typed{name, err} }

type unrecoverable struct{ err error }

func (e *unrecoverable) Error() string { return e.err.Error() }
func (e *unrecoverable) Unwrap() error { return e.err }

type duplicate struct{ guard string }

func (e *duplicate) Error() string { return "already done, says " + e.guard }

type refused struct {
	guard string
	err   error
}

func (e *refused) Error() string { return fmt.Sprintf("%s: %v", e.guard, e.err) }
func (e *refused) Unwrap() error { return e.err }

type typed struct {
	name string
	err  error
}

func (e *typed) Error() string { return e.err.Error() }
func (e *typed) Unwrap() error { return e.err }

// final reports that no later run can cure err.
func final(err error) bool {
	var u *unrecoverable
	var r *refused
	return errors.As(err, &u) || errors.As(err, &r)
}

// duplicateOf returns the guard that called the work done, if one did.
func duplicateOf(err error) (string, bool) {
	var d *duplicate
	if !errors.As(err, &d) {
		return "", false
	}
	return d.guard, true
}

// refusedBy returns the guard that refused the message, if one did.
func refusedBy(err error) (string, bool) {
	var r *refused
	if !errors.As(err, &r) {
		return "", false
	}
	return r.guard, true
}

// typeOf returns the name of err for x-exception-type.
func typeOf(err error) string {
	if t, ok := errors.AsType[*typed](err); ok {
		return t.name
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}

// Package auth says who acts (an Actor) and what an actor may do (a
// Permission by role). It knows nothing of HTTP: package web asks it at each
// route.
package auth

import "slices"

// Permission is one thing that a route asks for.
type Permission string

// Permissions, from the harmless to the dangerous.
const (
	Read    Permission = "read"    // see dead letters, keys, replays, sources
	Note    Permission = "note"    // write notes
	Discard Permission = "discard" // discard and restore
	Replay  Permission = "replay"  // replay, settle
	Release Permission = "release" // release idempotency keys
	Operate Permission = "operate" // pause and resume sources
	Report  Permission = "report"  // report outcomes, as consumers do
)

// Role is a named set of permissions.
type Role string

// Roles, each with all of those before it but Reporter, which only reports.
const (
	Viewer   Role = "viewer"
	Operator Role = "operator"
	Reporter Role = "reporter"
)

var granted = map[Role][]Permission{
	Viewer:   {Read},
	Operator: {Read, Note, Discard, Replay, Release, Operate, Report},
	Reporter: {Report},
}

// Actor is who sent a request. The zero value may do nothing.
type Actor struct {
	Name  string
	Roles []Role
}

// Anonymous is the actor of every request where authentication is off
// (auth.mode none); it may do everything.
var Anonymous = Actor{Name: "anonymous", Roles: []Role{Operator}}

// May reports whether one of a's roles grants p. Deny is the default.
func (a Actor) May(p Permission) bool {
	return slices.ContainsFunc(a.Roles, func(r Role) bool { return slices.Contains(granted[r], p) })
}

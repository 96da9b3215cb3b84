package auth_test

import (
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/auth"
)

func TestRolesGrantNoMoreThanTheyName(t *testing.T) {
	t.Parallel()
	all := []auth.Permission{auth.Read, auth.Note, auth.Discard, auth.Replay, auth.Release, auth.Operate, auth.Report}
	tests := []struct {
		name  string
		actor auth.Actor
		may   map[auth.Permission]bool
	}{
		{"nobody", auth.Actor{}, nil},
		{"a role that does not exist", auth.Actor{Name: "x", Roles: []auth.Role{"root"}}, nil},
		{"a viewer only reads", auth.Actor{Name: "x", Roles: []auth.Role{auth.Viewer}}, map[auth.Permission]bool{auth.Read: true}},
		{"a reporter only reports", auth.Actor{Name: "x", Roles: []auth.Role{auth.Reporter}}, map[auth.Permission]bool{auth.Report: true}},
		{"two roles add up", auth.Actor{Roles: []auth.Role{auth.Viewer, auth.Reporter}}, map[auth.Permission]bool{auth.Read: true, auth.Report: true}},
	}
	for _, tt := range tests {
		for _, p := range all {
			if got := tt.actor.May(p); got != tt.may[p] {
				t.Errorf("%s: may %s is %v, want %v", tt.name, p, got, tt.may[p])
			}
		}
	}
	for _, p := range all {
		if !auth.Anonymous.May(p) {
			t.Errorf("with authentication off, anonymous may not %s", p)
		}
	}
	if auth.Anonymous.May("shutdown") {
		t.Error("anonymous may do what no role grants")
	}
}

package rabbittest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
)

// CloseConnections makes the broker cut all connections of this virtual host
// but the helpers' own, and returns how many it cut. The broker lists a
// connection some moments after it was opened: a test that has just connected
// polls until the count is what it expects.
func (v *Vhost) CloseConnections(tb testing.TB) int {
	tb.Helper()
	var list []struct {
		Name       string `json:"name"`
		Properties struct {
			ConnectionName string `json:"connection_name"`
		} `json:"client_properties"`
	}
	answer := v.Manage(tb, http.MethodGet, "/api/vhosts/"+v.Name+"/connections", "")
	if err := json.Unmarshal(answer, &list); err != nil {
		tb.Fatalf("rabbittest: list connections: %v", err)
	}
	closed := 0
	for _, c := range list {
		if c.Properties.ConnectionName == helperName {
			continue
		}
		switch status, answer := v.request(tb, http.MethodDelete, "/api/connections/"+url.PathEscape(c.Name), ""); {
		case status == http.StatusNotFound: // it was listed, and ended before it could be cut
		case status >= http.StatusBadRequest:
			tb.Fatalf("rabbittest: cut %s: %d: %s", c.Name, status, answer)
		default:
			closed++
		}
	}
	return closed
}

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"testing"
)

// checkBody proves that the stored body is the payment's own, byte for byte.
func checkBody(t *testing.T, c *console, m message) {
	t.Helper()
	status, body := c.ask(t, http.MethodGet, c.url+"/api/v1/messages/"+m.ID+"/body", nil)
	if status != http.StatusOK {
		t.Fatalf("body of %s: %d %s", m.ID, status, body)
	}
	sum := sha256.Sum256(body)
	if got := hex.EncodeToString(sum[:]); got != m.BodySHA256 || len(body) != m.BodySize {
		t.Errorf("body of %s: %d bytes with hash %s, the message says %d and %s", m.ID, len(body), got, m.BodySize, m.BodySHA256)
	}
	var payment struct{ OrderNo string }
	if err := json.Unmarshal(body, &payment); err != nil || payment.OrderNo != *m.BusinessKey {
		t.Errorf("body of %s: %s (%v), want the order %s", m.ID, body, err, *m.BusinessKey)
	}
}

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
)

// soon is how long a test waits for what should happen at once: generous,
// since the machine may be busy with other tests.
const soon = 45 * time.Second

// console is a running console.
type console struct {
	*process
	url     string // of the pages and the API, without a slash at the end
	metrics string
}

// startConsole migrates the database and serves. It does not wait for readiness.
func startConsole(t *testing.T, config string, env ...string) *console {
	t.Helper()
	path := filepath.Join(t.TempDir(), "console.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	env = append([]string{"DLO_LOG_FORMAT=json", "DLO_SERVER_LISTEN=127.0.0.1:0", "DLO_SERVER_METRICS_LISTEN=127.0.0.1:0"}, env...)
	c := &console{process: start(t, env, "console", "serve", "--config", path)}
	poll.True(t, soon, "the console listens", func() bool {
		for line := range strings.Lines(c.output()) {
			var entry struct{ Msg, Listen, Metrics string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "console is listening" {
				c.url, c.metrics = "http://"+entry.Listen, "http://"+entry.Metrics
			}
		}
		return c.url != "" || ended(c.process)
	})
	if c.url == "" {
		t.Fatalf("the console ended at start:\n%s", c.output())
	}
	return c
}

func ended(p *process) bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// awaitReady waits until /readyz says so.
func (c *console) awaitReady(t *testing.T) {
	t.Helper()
	poll.Until(t, soon, func() error {
		status, body := c.ask(t, http.MethodGet, c.metrics+"/readyz", nil)
		if status != http.StatusOK {
			return fmt.Errorf("/readyz: %d %s", status, body)
		}
		return nil
	})
}

// ask sends one request and returns the answer whole. A transport error is
// status 0.
func (c *console) ask(t *testing.T, method, url string, body any) (int, []byte) {
	t.Helper()
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, sent)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return resp.StatusCode, answer
}

// get reads path of the API into v.
func (c *console) get(t *testing.T, path string, v any) {
	t.Helper()
	status, body := c.ask(t, http.MethodGet, c.url+"/api/v1"+path, nil)
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, body)
	}
	if err := json.Unmarshal(body, v); err != nil {
		t.Fatalf("GET %s: %v in %s", path, err, body)
	}
}

// post sends body to path of the API, fails unless it answers want, and reads
// the answer into v where v is not nil.
func (c *console) post(t *testing.T, path string, body any, want int, v any) {
	t.Helper()
	status, answer := c.ask(t, http.MethodPost, c.url+"/api/v1"+path, body)
	if status != want {
		t.Fatalf("POST %s: %d, want %d: %s", path, status, want, answer)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(answer, v); err != nil {
		t.Fatalf("POST %s: %v in %s", path, err, answer)
	}
}

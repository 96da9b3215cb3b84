package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	source = "pay-success"
	// startWithin and stopWithin bound the console's start and end.
	startWithin = 30 * time.Second
	stopWithin  = 30 * time.Second
)

// program is the console's binary and settings.
type program struct {
	dir, binary string
}

// makeConsole builds the console as it is shipped, unless there is a binary,
// into a folder that close deletes, and makes the schema.
func makeConsole(ctx context.Context, root, binary, brokerURL, management, databaseURL string) (*program, error) {
	dir, err := os.MkdirTemp("", "dlo-bench-console-")
	if err != nil {
		return nil, err
	}
	p := &program{dir: dir, binary: binary}
	if binary == "" {
		p.binary = filepath.Join(dir, "console")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", p.binary, "./cmd/console")
		build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return p, fmt.Errorf("build the console: %w\n%s", err, out)
		}
	}
	settings := fmt.Sprintf(`
server: {listen: "127.0.0.1:0", metrics_listen: "127.0.0.1:0"}
database: {url: %q}
brokers: [{name: pay, url: %q, management_url: %q}]
sources:
  - name: %s
    broker: pay
    queue: %s
    business_key: [{body: "$.orderNo"}, {property: message_id}]
log: {level: info, format: json}
`, databaseURL, brokerURL, management, source, queue)
	if err := os.WriteFile(p.settings(), []byte(settings), 0o600); err != nil {
		return p, err
	}
	migrate := exec.CommandContext(ctx, p.binary, "migrate", "--config", p.settings())
	if out, err := migrate.CombinedOutput(); err != nil {
		return p, fmt.Errorf("console migrate: %w\n%s", err, out)
	}
	return p, nil
}

func (p *program) settings() string { return filepath.Join(p.dir, "console.yaml") }
func (p *program) close() error     { return os.RemoveAll(p.dir) }

// console is one that runs.
type console struct {
	url, metrics string
	cmd          *exec.Cmd
	log          *os.File
	done         chan error
}

// start returns once the console is ready and its source is paused.
func (p *program) start(ctx context.Context) (*console, error) {
	log, err := os.Create(filepath.Join(p.dir, "log"))
	if err != nil {
		return nil, err
	}
	// No context ends this process: stop does, in an orderly way.
	c := &console{log: log, done: make(chan error, 1)}
	c.cmd = exec.CommandContext(context.WithoutCancel(ctx), p.binary, "serve", "--config", p.settings())
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.SysProcAttr = child()
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { c.done <- c.cmd.Wait() }()
	if err := c.awaitPaused(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the console: %w", err), c.said(), c.stop())
	}
	return c, nil
}

func (c *console) awaitPaused(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin, errors.New("it is not ready in time"))
	defer cancel()
	if err := until(ctx, 50*time.Millisecond, c.listens); err != nil {
		return err
	}
	ready := func() (bool, error) { return c.call(ctx, http.MethodGet, c.metrics+"/readyz", nil, nil) == nil, nil }
	if err := until(ctx, 50*time.Millisecond, ready); err != nil {
		return err
	}
	if err := c.turn(ctx, "pause"); err != nil {
		return err
	}
	return until(ctx, 50*time.Millisecond, func() (bool, error) {
		state, err := c.state(ctx)
		return state == "paused", err
	})
}

// listens looks in the log for the addresses.
func (c *console) listens() (bool, error) {
	select {
	case err := <-c.done:
		c.done <- err
		return false, fmt.Errorf("it ended at once: %w", err)
	default:
	}
	text, err := os.ReadFile(c.log.Name())
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(text)) {
		var entry struct{ Msg, Listen, Metrics string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "console is listening" {
			c.url, c.metrics = "http://"+entry.Listen, "http://"+entry.Metrics
			return true, nil
		}
	}
	return false, nil
}

// said is the end of the console's log, as an error to show.
func (c *console) said() error {
	text, err := os.ReadFile(c.log.Name())
	if err != nil {
		return err
	}
	return fmt.Errorf("the console's log ends with:\n%s", text[max(0, len(text)-4000):])
}

// stop ends the console by SIGTERM.
func (c *console) stop() error {
	defer c.log.Close()
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // Wait says if it is gone already
	select {
	case err := <-c.done:
		if err != nil {
			return errors.Join(fmt.Errorf("the console ended with %w", err), c.said())
		}
		return nil
	case <-time.After(stopWithin):
		return errors.Join(errors.New("the console does not end after SIGTERM"), c.cmd.Process.Kill())
	}
}

// turn pauses or resumes the source.
func (c *console) turn(ctx context.Context, act string) error {
	path := c.url + "/api/v1/sources/" + source + "/" + act
	return c.call(ctx, http.MethodPost, path, map[string]string{"reason": "benchmark"}, nil)
}

func (c *console) state(ctx context.Context) (string, error) {
	var list struct {
		Items []struct{ Name, State string }
	}
	if err := c.call(ctx, http.MethodGet, c.url+"/api/v1/sources", nil, &list); err != nil {
		return "", err
	}
	for _, s := range list.Items {
		if s.Name == source {
			return s.State, nil
		}
	}
	return "", errors.New("the console does not know its source")
}

// call sends one request and reads the answer into v, if v is not nil.
func (c *console) call(ctx context.Context, method, address string, body, v any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %s", method, address, resp.Status, answer)
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(answer, v)
}

// forgetPeak makes peak count from now on.
func (c *console) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", c.cmd.Process.Pid), []byte("5"), 0o200)
}

// peak is the most memory that the console had resident, in megabytes.
func (c *console) peak() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return float64(kb) / 1024, err
		}
	}
	return 0, errors.New("/proc does not say how much memory the console had")
}

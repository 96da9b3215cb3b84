package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"text/template"
	"time"
)

// consoleConf is what the demo's console is told.
type consoleConf struct {
	Listen, Metrics   string
	Address           string // of the pages, as people reach them
	Open              bool   // others can reach them too
	Console, Business string // databases
	Redis, Broker     string
	Management        string
	Runbook           string
	Queue, Pattern    string
}

var consoleYAML = template.Must(template.New("console.yaml").Funcs(template.FuncMap{"q": quote}).Parse(
	`# Written by paydemo demo; written again at its next start.
server:
  listen: {{q .Listen}}
  metrics_listen: {{q .Metrics}}
  external_url: {{q .Address}}
  insecure_listen: {{.Open}}
environment: {name: demo, color: green}
database: {url: {{q .Console}}}
redis: {urls: [{{q .Redis}}], mode: single}
brokers:
  - {name: pay, url: {{q .Broker}}, management_url: {{q .Management}}}
sources:
  - name: pay-success
    broker: pay
    queue: {{q .Queue}}
    original_queue: auto
    route: auto
    business_key: [{body: "$.orderNo"}]
    idempotency_keys: [{space: pay-success}]
    guards:
      - {name: order state, kind: state, database: orders, query: "select status from t_order where order_no = $1", from: [INIT], done: [PAID, SETTLED]}
      - {name: account flow, kind: effect, database: orders, query: "select 1 from t_account_flow where biz_no = $1 and type = 'PAY_DEDUCT'"}
    runbook_url: {{q .Runbook}}
key_spaces:
  - {name: pay-success, pattern: {{q .Pattern}}, style: status, ttl: 24h, stuck_after: 30s}
business_databases: [{name: orders, url: {{q .Business}}}]
replay: {outcome_timeout: 2m}
auth: {mode: none}
`))

// quote writes a string so that YAML reads it back whatever is in it.
func quote(s string) (string, error) {
	b, err := json.Marshal(s)
	return string(b), err
}

func newConsoleConf(ctx context.Context, o demoOptions, p place, runbook string) (consoleConf, error) {
	c := consoleConf{
		Console: p.console, Business: p.services.postgres, Redis: p.services.redis, Broker: p.services.amqp,
		Management: p.services.management, Runbook: runbook, Queue: queueTerminal, Pattern: keyPattern,
	}
	var err error
	if c.Listen, err = freeAddress(ctx, o.listen); err != nil {
		return c, err
	}
	c.Address = "http://" + asSeen(c.Listen)
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return c, fmt.Errorf("paydemo: demo: -listen: %w", err)
	}
	c.Open = !net.ParseIP(host).IsLoopback()
	c.Metrics, err = freeAddress(ctx, "127.0.0.1:9464")
	return c, err
}

// freeAddress returns address, or one with another port where that is in use.
func freeAddress(ctx context.Context, address string) (string, error) {
	listener, err := listenNear(ctx, address)
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// listenNear listens on address, or on another port of the same host where that
// is in use.
func listenNear(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("paydemo: demo: %q is no address: %w", address, err)
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		listener, err = lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("paydemo: demo: listen near %s: %w", address, err)
	}
	return listener, nil
}

// asSeen is how a browser on this machine reaches a listener on all addresses.
func asSeen(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err == nil && net.ParseIP(host).IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return address
}

func (c consoleConf) url() string      { return c.Address + "/" }
func (c consoleConf) readyURL() string { return "http://" + c.Metrics + "/readyz" }

// write keeps the file from others: it holds passwords.
func (c consoleConf) write(path string) error {
	var b strings.Builder
	if err := consoleYAML.Execute(&b, c); err != nil {
		return fmt.Errorf("paydemo: demo: write %s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("paydemo: demo: %w", err)
	}
	return nil
}

// waitReady polls until url answers 200.
func waitReady(ctx context.Context, url string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		err := probeReady(ctx, url)
		if err == nil || !wait(ctx, 200*time.Millisecond) {
			return err
		}
	}
}

func probeReady(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(answer)))
	}
	return nil
}

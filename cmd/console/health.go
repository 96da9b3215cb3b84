package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/config"
)

// probeTimeout bounds what one dependency may take of a readiness probe.
const probeTimeout = 2 * time.Second

// readiness says whether the console can do its work: migrated, connected, not
// shutting down. Brokers and Redis count until they were reached once: a broker
// that goes away later must not take the pages away from those who look at why.
type readiness struct {
	always map[string]func(context.Context) error // asked each time
	once   map[string]func(context.Context) error // asked until they answered once

	mu       sync.Mutex
	reached  map[string]bool
	stopping bool
}

func newReadiness() *readiness {
	return &readiness{
		always: map[string]func(context.Context) error{}, once: map[string]func(context.Context) error{},
		reached: map[string]bool{},
	}
}

// stop makes the console not ready, for good.
func (r *readiness) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
}

// report answers each check with "ok" or with what is wrong.
func (r *readiness) report(ctx context.Context) (map[string]string, bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	answers, ready := map[string]string{}, true
	note := func(name string, err error) {
		answers[name] = "ok"
		if err != nil {
			answers[name], ready = err.Error(), false
		}
	}
	for name, ask := range r.always {
		note(name, ask(ctx))
	}
	for name, ask := range r.once {
		note(name, r.askOnce(ctx, name, ask))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping {
		answers["shutdown"], ready = "the console is shutting down", false
	}
	return answers, ready
}

func (r *readiness) askOnce(ctx context.Context, name string, ask func(context.Context) error) error {
	r.mu.Lock()
	done := r.reached[name]
	r.mu.Unlock()
	if done {
		return nil
	}
	if err := ask(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reached[name] = true
	return nil
}

// ServeHTTP answers GET /readyz.
func (r *readiness) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	checks, ready := r.report(req.Context())
	status := http.StatusOK
	if !ready {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"ready": ready, "checks": checks}) // the client has gone
}

// healthcheck asks the console on this machine whether it is alive; a
// container's health check runs it, since the image has no other program.
func healthcheck(ctx context.Context, s settings) error {
	c, _, err := config.Load(s.input, config.ForMigrate)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Server.MetricsListen+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("healthcheck: %s", resp.Status)
	}
	fmt.Fprintln(s.stdout, "alive")
	return nil
}

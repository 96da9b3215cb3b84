package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// gate answers with a short page until the console can serve, then hands every
// request on.
type gate struct {
	open atomic.Pointer[http.Handler]
	why  func() string
}

func (g *gate) set(h http.Handler) { g.open.Store(&h) }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := g.open.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Retry-After", "2")
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprintf(w, "Dead Letter Office is starting and not ready yet: %s.\nNothing is lost: messages stay on the broker until they are stored.\n", g.why())
}

// metricsHandler serves metrics and health, on an address of their own so that
// neither is ever published by accident with the pages.
func metricsHandler(reg *prometheus.Registry, ready *readiness) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		Registry: reg, ErrorHandling: promhttp.ContinueOnError, Timeout: 10 * time.Second, EnableOpenMetrics: true,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") })
	mux.Handle("GET /readyz", ready)
	return mux
}

// newServer returns a server for h. Streams are long, so writing has no time
// limit; reading has.
func newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
}

// listen opens address now, so that a port that is taken is an error at start.
func listen(ctx context.Context, setting, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return l, nil
}

// serveHTTP serves until ctx ends, then lets requests in hand finish within
// grace. Streams end with the loop that feeds them.
func serveHTTP(ctx context.Context, srv *http.Server, l net.Listener, grace time.Duration) error {
	var failed error
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		failed = srv.Serve(l)
	}()
	select {
	case <-stopped:
		return fmt.Errorf("http: %w", failed)
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := srv.Shutdown(bounded)
	if errors.Is(err, context.DeadlineExceeded) {
		_ = srv.Close() // what did not finish in time is cut
		err = nil
	}
	<-stopped
	return err
}

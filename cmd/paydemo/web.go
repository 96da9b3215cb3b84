package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

func webCommand(ctx context.Context, args []string) error {
	var s services
	flags := flag.NewFlagSet("paydemo web", flag.ContinueOnError)
	s.flagsFor(flags)
	listen := flags.String("listen", "127.0.0.1:8090", "address of the page; it asks nobody who they are")
	if err := flags.Parse(args); err != nil {
		return usage(err)
	}
	pool, err := openDatabase(ctx, s.postgres, 0)
	if err != nil {
		return err
	}
	defer pool.Close()
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("paydemo: listen: %w", err)
	}
	fmt.Printf("http://%s/\n", listener.Addr())
	w := newWeb(pool, &sender{url: s.amqp}, newLog())
	defer w.producer.sender.close()
	return w.serve(ctx, listener)
}

// web is the page: what there is, and forms to cause and mend faults.
type web struct {
	pool     *pgxpool.Pool
	controls controls
	producer *producer
	log      *slog.Logger
}

func newWeb(pool *pgxpool.Pool, s *sender, log *slog.Logger) *web {
	return &web{pool, controls{pool}, &producer{pool: pool, sender: s, log: log}, log}
}

const webGrace = 5 * time.Second

// serve answers until ctx is cancelled.
func (w *web) serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: w.handler(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("paydemo: serve the page: %w", err)
	case <-ctx.Done():
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), webGrace)
		defer cancel()
		return server.Shutdown(grace)
	}
}

func (w *web) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", w.page)
	mux.HandleFunc("GET /api/state", w.state)
	for path, act := range map[string]func(context.Context, url.Values) (string, error){
		"POST /set": w.set, "POST /top-up": w.topUp, "POST /refund": w.refund, "POST /order": w.order, "POST /again": w.again,
	} {
		mux.Handle(path, w.form(act))
	}
	return http.NewCrossOriginProtection().Handler(mux)
}

func (w *web) page(rw http.ResponseWriter, r *http.Request) {
	orderNo := r.URL.Query().Get("order")
	b, err := readBook(r.Context(), w.pool, orderNo)
	if err != nil {
		w.fail(rw, r, err)
		return
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
	err = pageTemplate.Execute(rw, struct {
		Book        book
		Faults      []string
		Order, Said string
	}{b, faults, orderNo, r.URL.Query().Get("said")})
	if err != nil {
		w.log.WarnContext(r.Context(), "page not written", "err", err)
	}
}

func (w *web) state(rw http.ResponseWriter, r *http.Request) {
	b, err := readBook(r.Context(), w.pool, r.URL.Query().Get("order"))
	if err != nil {
		w.fail(rw, r, err)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(rw).Encode(b); err != nil {
		w.log.WarnContext(r.Context(), "state not written", "err", err)
	}
}

// form turns an act into a handler: back to the page, which says what was done
// or why not.
func (w *web) form(act func(context.Context, url.Values) (string, error)) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(rw, r.Body, 1<<16)
		if err := r.ParseForm(); err != nil {
			http.Error(rw, "The form cannot be read.", http.StatusBadRequest)
			return
		}
		said, err := act(r.Context(), r.PostForm)
		if errors.Is(err, errNotPossible) {
			http.Error(rw, "Nothing was done. "+err.Error(), http.StatusUnprocessableEntity)
			return
		}
		if err != nil {
			w.fail(rw, r, err)
			return
		}
		http.Redirect(rw, r, "./?said="+url.QueryEscape(said), http.StatusSeeOther)
	})
}

func (w *web) fail(rw http.ResponseWriter, r *http.Request, err error) {
	w.log.ErrorContext(r.Context(), "request failed", "path", r.URL.Path, "err", err)
	http.Error(rw, "It did not work; the log says why.", http.StatusInternalServerError)
}

func (w *web) set(ctx context.Context, f url.Values) (string, error) {
	name, value := f.Get("control"), f.Get("value")
	if err := checkControl(name, value); err != nil {
		return "", fmt.Errorf("%w: %w", errNotPossible, err)
	}
	return name + " is " + value, w.controls.apply(ctx, name, value)
}

func (w *web) topUp(ctx context.Context, f url.Values) (string, error) {
	user, err := strconv.ParseInt(f.Get("user"), 10, 64)
	if err != nil {
		return "", fmt.Errorf("%w: %q is no user", errNotPossible, f.Get("user"))
	}
	amount, err := parseCents(f.Get("amount"))
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNotPossible, err)
	}
	return fmt.Sprintf("user %d has %s more", user, amount), topUp(ctx, w.pool, user, amount)
}

func (w *web) refund(ctx context.Context, f url.Values) (string, error) {
	return "order " + f.Get("order") + " is refunded", refundOrder(ctx, w.pool, f.Get("order"))
}

func (w *web) again(ctx context.Context, f url.Values) (string, error) {
	return "order " + f.Get("order") + " was sent again", w.producer.again(ctx, f.Get("order"))
}

func (w *web) order(ctx context.Context, f url.Values) (string, error) {
	o := produceOptions{rate: 1, count: 1, amount: f.Get("amount"), fault: f.Get("fault"), refund: f.Get("refunded") != ""}
	if f.Get("user") != "" {
		user, err := strconv.ParseInt(f.Get("user"), 10, 64)
		if err != nil {
			return "", fmt.Errorf("%w: %q is no user", errNotPossible, f.Get("user"))
		}
		o.user = user
	}
	if err := o.check(); err != nil {
		return "", fmt.Errorf("%w: %w", errNotPossible, err)
	}
	if _, err := newPayment(o, time.Now()); err != nil {
		return "", fmt.Errorf("%w: %w", errNotPossible, err)
	}
	orderNo, err := w.producer.one(ctx, o)
	return "order " + orderNo + " was made and paid", err
}

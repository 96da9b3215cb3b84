// Package web is the console's face: the pages for operators, the JSON API for
// programs, and the stream of events that keeps a page fresh. It binds a
// request, calls the packages that know (dlq, replay, keys, audit), puts the
// answer in words and renders it. It decides nothing about dead letters, opens
// no connection and has no SQL; who may do what comes from package auth and is
// asked at each route.
//
// All pages work as plain forms and links; scripts only refine them.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/seed-d2bf649b/dead-letter-office/internal/auth"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
)

// Environment names the place where the console runs; a badge on every page.
type Environment struct {
	Name  string
	Color string // red, amber, green, blue, violet or grey; anything else is grey
}

// Options are what a Server stands on. Messages, Sources, Replays, Reimports,
// Audit and Actor are required.
type Options struct {
	Messages  messages   // *dlq.Store
	Sources   sources    // the drains, by name
	Replays   replays    // *replay.Service
	Audit     auditLog   // *audit.Log
	Reimports reimporter // *dlq.Reimporter
	Spaces    []keys.Space
	Runbooks  map[string]string // source name → URL; may be nil

	Environment Environment
	BodyInline  int    // how many bytes of a body its page shows; 0: 256 KiB
	BasePath    string // where the console is mounted, "/" or e.g. "/dlo/"
	ExternalURL string // how browsers reach it; "" where not configured
	Effective   string // the effective configuration as redacted YAML

	// Actor says who sent a request. An error is answered with 401.
	Actor func(*http.Request) (auth.Actor, error)
	// AuthOff says that Actor lets everybody do everything. Only loopback names
	// and ExternalURL's host are then answered, so that no web page elsewhere
	// can reach the console through a name of its own (DNS rebinding).
	AuthOff bool

	Now func() time.Time // default time.Now; its location is the one shown on pages
	Log *slog.Logger     // default: nothing is logged
}

// Server is the console's HTTP handler. Run keeps its live updates going; the
// handler works without it, its pages then show what was true when they were
// read.
type Server struct {
	Options
	echo   *echo.Echo
	links  links
	assets *assets
	texts  *catalogue
	live   *broadcaster
	api    []byte // the OpenAPI document with this server's base path
}

// New returns a Server, or an error that names what is missing or wrong in o.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{Options: o, live: newBroadcaster()}
	if s.links, err = newLinks(o.BasePath, o.ExternalURL); err != nil {
		return nil, err
	}
	if s.texts, err = loadCatalogue(); err != nil {
		return nil, err
	}
	if s.assets, err = loadAssets(s.links); err != nil {
		return nil, err
	}
	if s.api, err = openAPI(s.links); err != nil {
		return nil, err
	}
	s.echo, err = s.router()
	return s, err
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// Run reads the cheap figures every second and tells the pages that listen. It
// returns nil once ctx ends, after which every stream has been ended too.
func (s *Server) Run(ctx context.Context) error {
	s.live.run(ctx, s.readPulse, s.Log)
	return nil
}

func (o Options) withDefaults() (Options, error) {
	var missing error
	need := func(there bool, name string) {
		if !there {
			missing = errors.Join(missing, errors.New("web: option "+name+" is required"))
		}
	}
	need(o.Messages != nil, "Messages")
	need(o.Sources != nil, "Sources")
	need(o.Replays != nil, "Replays")
	need(o.Audit != nil, "Audit")
	need(o.Reimports != nil, "Reimports")
	need(o.Actor != nil, "Actor")
	if o.BodyInline <= 0 {
		o.BodyInline = defaultBodyInline
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, missing
}

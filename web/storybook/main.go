// Command storybook serves the console's pages over fixed data, without a
// broker, Redis or Postgres: to look at them while they are made. It is a tool
// of the developers and no part of the product.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/auth"
	"github.com/seed-d2bf649b/dead-letter-office/web"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8099", "where to serve")
	base := flag.String("base", "/", "base path")
	color := flag.String("color", "red", "colour of the environment")
	flag.Parse()
	if err := run(*listen, *base, *color); err != nil {
		log.Fatal(err)
	}
}

func run(listen, base, color string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store := sample.NewStore()
	store.AddFrameworks()
	pages, err := web.New(web.Options{
		Messages: store, Sources: sample.NewSources().Wait(), Replays: &sample.Replays{Store: store}, Audit: sample.Log{}, Reimports: store, Spaces: sample.Spaces,
		Runbooks:    map[string]string{"pay-success": "https://runbooks.example/pay"},
		Environment: web.Environment{Name: "PRODUCTION", Color: color}, BasePath: base, Effective: sample.Effective,
		Actor: func(*http.Request) (auth.Actor, error) {
			return auth.Actor{Name: "anna", Roles: []auth.Role{auth.Operator}}, nil
		},
		AuthOff: true, Now: func() time.Time { return sample.Now },
	})
	if err != nil {
		return err
	}
	srv := &http.Server{Addr: listen, Handler: pages, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		_ = pages.Run(ctx) // ends with ctx
		_ = srv.Close()
	}()
	log.Printf("storybook on http://%s%s", listen, base)
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

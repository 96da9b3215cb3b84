package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// place is the demo's own corner of the services: nothing else on them is
// touched.
type place struct {
	services services // the business system's
	console  string   // the console's database
}

// prepare makes the demo's virtual host, databases and topology, and clears
// what an earlier demo left unless that is to be kept.
func prepare(ctx context.Context, s services, o demoOptions) (place, error) {
	p := place{services: s}
	var err error
	if p.services.postgres, err = prepareDatabase(ctx, s.postgres, "dlo_"+o.name+"_pay", o.keep); err != nil {
		return p, err
	}
	if p.console, err = prepareDatabase(ctx, s.postgres, "dlo_"+o.name+"_console", o.keep); err != nil {
		return p, err
	}
	if p.services.amqp, err = prepareVhost(ctx, s, "dlo-"+o.name, o.keep); err != nil {
		return p, err
	}
	if err := declareSoon(ctx, p.services.amqp, o.tiers); err != nil {
		return p, err
	}
	if o.keep {
		return p, nil
	}
	return p, clearRedis(ctx, s.redis)
}

// prepareDatabase returns the URL of a database of that name on the same
// server.
func prepareDatabase(ctx context.Context, server, name string, keep bool) (string, error) {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", fmt.Errorf("paydemo: demo: connect to PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	ident := pgx.Identifier{name}.Sanitize()
	if !keep {
		if _, err := conn.Exec(ctx, `DROP DATABASE IF EXISTS `+ident+` WITH (FORCE)`); err != nil {
			return "", fmt.Errorf("paydemo: demo: drop database %s: %w", name, err)
		}
	}
	var there bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&there); err != nil {
		return "", fmt.Errorf("paydemo: demo: look for database %s: %w", name, err)
	}
	if !there {
		if _, err := conn.Exec(ctx, `CREATE DATABASE `+ident); err != nil {
			return "", fmt.Errorf("paydemo: demo: create database %s (the user needs CREATEDB): %w", name, err)
		}
	}
	u, err := url.Parse(server)
	if err != nil {
		return "", errors.New("paydemo: demo: the PostgreSQL URL cannot be read")
	}
	u.Path = "/" + name
	return u.String(), nil
}

// prepareVhost returns the URL of a virtual host of the demo's own. Without the
// management API none can be made, and that of the URL is used as it is.
func prepareVhost(ctx context.Context, s services, name string, keep bool) (string, error) {
	broker, err := url.Parse(s.amqp)
	if err != nil {
		return "", errors.New("paydemo: demo: the broker's URL cannot be read")
	}
	if s.management == "" {
		say("no management URL is given: using the broker's virtual host as it is")
		return s.amqp, nil
	}
	if !keep {
		if err := manage(ctx, s, http.MethodDelete, "/api/vhosts/"+name, ""); err != nil {
			return "", err
		}
	}
	if err := manage(ctx, s, http.MethodPut, "/api/vhosts/"+name, "{}"); err != nil {
		return "", err
	}
	user := broker.User.Username()
	if user == "" {
		user = "guest"
	}
	permissions := "/api/permissions/" + name + "/" + url.PathEscape(user)
	if err := manage(ctx, s, http.MethodPut, permissions, `{"configure":".*","write":".*","read":".*"}`); err != nil {
		return "", err
	}
	broker.Path, broker.RawPath = "/"+name, ""
	return broker.String(), nil
}

// manage calls the management API. What is not there need not be deleted.
func manage(ctx context.Context, s services, method, path, body string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(s.management, "/")+path, strings.NewReader(body))
	if err != nil {
		return errors.New("paydemo: demo: the management URL cannot be read")
	}
	req.Header.Set("Content-Type", "application/json")
	if broker, err := url.Parse(s.amqp); err == nil && req.URL.User == nil {
		password, _ := broker.User.Password()
		req.SetBasicAuth(broker.User.Username(), password)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("paydemo: demo: management API: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode >= 400 && (method != http.MethodDelete || resp.StatusCode != http.StatusNotFound) {
		return fmt.Errorf("paydemo: demo: management API: %s %s answers %s", method, path, resp.Status)
	}
	return nil
}

// declareSoon declares the topology; a new virtual host may need a moment.
func declareSoon(ctx context.Context, url string, tiers []tier) error {
	for n := 0; ; n++ {
		err := declareTopology(url, tiers)
		if err == nil || n == 20 || !wait(ctx, 500*time.Millisecond) {
			return err
		}
	}
}

// clearRedis deletes the keys of this consumer and its reports, nothing else.
func clearRedis(ctx context.Context, url string) error {
	client, err := openRedis(url)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for _, pattern := range []string{strings.Replace(keyPattern, "{business_key}", "*", 1), "dlo:checks:" + consumerName + ":*", "dlo:outcomes"} {
		keys := client.Scan(ctx, 0, pattern, 1000).Iterator()
		for keys.Next(ctx) {
			if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
				return fmt.Errorf("paydemo: demo: clear Redis: %w", err)
			}
		}
		if err := keys.Err(); err != nil {
			return fmt.Errorf("paydemo: demo: clear Redis: %w", err)
		}
	}
	return nil
}

// lockDir keeps two demos from using one place.
func lockDir(dir string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("paydemo: demo: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("paydemo: demo: another demo runs in %s: stop it first, or give this one another -name", dir)
	}
	return func() { _ = file.Close() }, nil
}

// fileLog is where the demo's own parts log, so that the terminal stays quiet.
func fileLog(dir string) (*slog.Logger, func(), error) {
	file, err := os.OpenFile(filepath.Join(dir, "demo.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("paydemo: demo: %w", err)
	}
	return slog.New(slog.NewTextHandler(file, nil)), func() { _ = file.Close() }, nil
}

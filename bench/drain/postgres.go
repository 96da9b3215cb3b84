package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/bench/own"
)

// postgres is a database of our own: on a server that the benchmark starts,
// because the one for the tests has its durability turned off, or on one that
// was named.
type postgres struct {
	url    string
	server string
	name   string

	statements bool // our server counts them

	process *exec.Cmd // nil: the server is not ours
	dir     string    // of our server's files
}

// openPostgres makes the database. Close what it returns, also with an error.
func openPostgres(ctx context.Context, o options) (*postgres, error) {
	p := &postgres{server: o.postgres, statements: o.statements, name: "bench_" + strings.ToLower(rand.Text())}
	if o.postgres == "" {
		if err := p.start(ctx, o.dir); err != nil {
			return p, fmt.Errorf("start PostgreSQL: %w", err)
		}
	}
	if err := p.exec(ctx, "CREATE DATABASE "+p.name); err != nil {
		return p, err
	}
	u, err := url.Parse(p.server)
	if err != nil {
		return p, errors.New("-postgres is not a URL")
	}
	u.Path = "/" + p.name
	p.url = u.String()
	return p, p.exec(ctx, "ALTER DATABASE "+p.name+" SET synchronous_commit = on")
}

// start makes a cluster and serves it with the settings of scripts/services,
// but for those that give durability up.
func (p *postgres) start(ctx context.Context, dir string) error {
	bin, err := own.PostgresPrograms()
	if err != nil {
		return fmt.Errorf("%w: install it, or name a server with -postgres", err)
	}
	if p.dir, err = os.MkdirTemp(dir, "dlo-bench-"); err != nil {
		return err
	}
	attributes := child()
	if attributes.Credential, err = own.GiveToPostgres(p.dir); err != nil {
		return err
	}
	data := filepath.Join(p.dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "--username=bench", "--auth=trust",
		"--encoding=UTF8", "--locale=C.UTF-8")
	initdb.SysProcAttr, initdb.Dir = attributes, p.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port, err := own.FreePort(ctx)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(p.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	// No context ends this process: close does, in an orderly way.
	server := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "shared_buffers=256MB",
		"-c", "fsync=on", "-c", "synchronous_commit=on", "-c", "full_page_writes=on")
	server.SysProcAttr, server.Dir, server.Stdout, server.Stderr = attributes, p.dir, log, log
	if p.statements {
		server.Args = append(server.Args, "-c", "shared_preload_libraries=pg_stat_statements")
	}
	if err := server.Start(); err != nil {
		return err
	}
	p.process = server
	p.server = fmt.Sprintf("postgres://bench@127.0.0.1:%d/postgres?sslmode=disable", port)
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("the server does not answer"))
	defer cancel()
	return until(ctx, 100*time.Millisecond, func() (bool, error) { return p.exec(ctx, "SELECT 1") == nil, nil })
}

// close ends our server and deletes its files, or drops our database on
// another's.
func (p *postgres) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if p.process == nil {
		if p.url == "" {
			return nil
		}
		return p.exec(ctx, "DROP DATABASE "+p.name+" WITH (FORCE)")
	}
	err := p.process.Process.Signal(syscall.SIGQUIT) // nothing of it is wanted any more
	_ = p.process.Wait()                             // reports the signal
	return errors.Join(err, os.RemoveAll(p.dir))
}

// exec runs one statement on a connection of its own, outside of our database.
func (p *postgres) exec(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, p.server)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

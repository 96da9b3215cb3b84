package main

import (
	"context"
	"fmt"
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

// postgres is a server of our own, durable as it comes, that may be killed.
type postgres struct {
	dir, bin string
	port     int
	owner    *syscall.Credential // nil: ourselves
	process  *process
}

// startPostgres makes a cluster in dir and serves it.
func startPostgres(ctx context.Context, dir string) (*postgres, error) {
	p := &postgres{dir: filepath.Join(dir, "postgres")}
	var err error
	if p.bin, err = own.PostgresPrograms(); err != nil {
		return nil, err
	}
	if p.port, err = own.FreePort(ctx); err != nil {
		return nil, err
	}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return nil, err
	}
	if p.owner, err = own.GiveToPostgres(p.dir); err != nil {
		return nil, err
	}
	initdb := exec.CommandContext(ctx, filepath.Join(p.bin, "initdb"), "-D", p.data(), "--username=soak", "--auth=trust",
		"--encoding=UTF8", "--locale=C.UTF-8")
	initdb.SysProcAttr, initdb.Dir = &syscall.SysProcAttr{Credential: p.owner}, p.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return p, p.start(ctx)
}

func (p *postgres) data() string { return filepath.Join(p.dir, "data") }
func (p *postgres) addr() string { return "127.0.0.1:" + strconv.Itoa(p.port) }

// url is the database by way of addr.
func (p *postgres) url(addr string) string {
	return "postgres://soak@" + addr + "/postgres?sslmode=disable"
}

// start serves, and returns when the server answers.
func (p *postgres) start(ctx context.Context) error {
	return until(ctx, startWithin, func(ctx context.Context) error {
		if p.process == nil || p.process.ended() { // a first start may meet what a killed server left
			if err := p.spawn(ctx); err != nil {
				return err
			}
		}
		conn, err := pgx.Connect(ctx, p.url(p.addr()))
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

func (p *postgres) spawn(ctx context.Context) (err error) {
	cmd := command(ctx, filepath.Join(p.bin, "postgres"), "-D", p.data(), "-p", strconv.Itoa(p.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "shared_buffers=128MB")
	cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Credential: p.owner}, p.dir
	p.process, err = launch(cmd, filepath.Join(filepath.Dir(p.dir), "postgres.log"))
	return err
}

// kill ends all of the server's processes as a power cut would. The first one is
// stopped before, so that it makes no new ones meanwhile.
func (p *postgres) kill() {
	first := p.process.cmd.Process.Pid
	_ = syscall.Kill(first, syscall.SIGSTOP) // it may be gone, like those below
	for _, pid := range append(childrenOf(first), first) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.process.done
}

// close ends the server; nothing of it is wanted any more.
func (p *postgres) close() error {
	if p.process == nil || p.process.ended() {
		return nil
	}
	return p.process.stop(syscall.SIGQUIT)
}

// childrenOf are the processes whose parent is pid.
func childrenOf(pid int) []int {
	var children []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		if child, err := strconv.Atoi(strings.Split(path, "/")[2]); err == nil {
			children = append(children, child)
		}
	}
	return children
}

const startWithin = 5 * time.Minute

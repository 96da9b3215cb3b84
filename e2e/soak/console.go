package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/seed-d2bf649b/dead-letter-office/bench/own"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/cutproxy"
)

// console is one instance, with lines of its own to broker and store.
type console struct {
	name, binary, settings string
	amqp, store            *cutproxy.Proxy
	process                *process
	log                    string
}

// newConsole lays the lines and writes the settings; start starts it.
func newConsole(dir, name, binary string, b *broker, p *postgres, queues []queue) (*console, error) {
	c := &console{
		name: name, binary: binary,
		settings: filepath.Join(dir, name+".yaml"), log: filepath.Join(dir, name+".log"),
	}
	var err error
	if c.amqp, err = cutproxy.Open(b.addr()); err != nil {
		return nil, err
	}
	if c.store, err = cutproxy.Open(p.addr()); err != nil {
		c.amqp.Close()
		return nil, err
	}
	var sources strings.Builder
	for _, q := range queues {
		fmt.Fprintf(&sources, "  - {name: %s, broker: pay, queue: %s, business_key: [{body: \"$.orderNo\"}]}\n", q.kind, q.name)
	}
	text := fmt.Sprintf("server: {listen: \"127.0.0.1:0\", metrics_listen: \"127.0.0.1:0\"}\ndatabase: {url: %q}\n"+
		"brokers: [{name: pay, url: %q}]\nlog: {level: info, format: json}\nsources:\n%s",
		p.url(c.store.Addr()), b.url(c.amqp.Addr()), sources.String())
	return c, os.WriteFile(c.settings, []byte(text), 0o600)
}

func (c *console) migrate(ctx context.Context) error {
	if out, err := exec.CommandContext(ctx, c.binary, "migrate", "--config", c.settings).CombinedOutput(); err != nil {
		return fmt.Errorf("console migrate: %w\n%s", err, out)
	}
	return nil
}

func (c *console) start(ctx context.Context) (err error) {
	cmd := command(ctx, c.binary, "serve", "--config", c.settings)
	cmd.Env = append(os.Environ(), "GORACE=halt_on_error=1")
	c.process, err = launch(cmd, c.log)
	return err
}

// restart kills the console and starts it again at once.
func (c *console) restart(ctx context.Context) error {
	if err := c.alive(); err != nil {
		return err
	}
	c.process.kill()
	return c.start(ctx)
}

// change ends the console in an orderly way and starts it again, as a new
// version is rolled out.
func (c *console) change(ctx context.Context) error {
	if err := c.stop(); err != nil {
		return err
	}
	return c.start(ctx)
}

// stop ends the console by SIGTERM, and fails unless it goes in time and well.
func (c *console) stop() error {
	if err := c.alive(); err != nil {
		return err
	}
	err := c.process.stop(syscall.SIGTERM)
	if err == nil {
		err = c.process.err
	}
	if err != nil {
		return fmt.Errorf("%s after SIGTERM: %w\n%s", c.name, err, c.process.tail())
	}
	return nil
}

// alive fails if the console ended by itself, which nothing that happens to
// broker, store or lines may bring about.
func (c *console) alive() error {
	if c.process == nil || !c.process.ended() {
		return nil
	}
	return fmt.Errorf("%s ended by itself: %w\n%s", c.name, errors.Join(errEnded, c.process.err), c.process.tail())
}

var errEnded = errors.New("nobody had asked it to")

// close ends the console and its lines at once.
func (c *console) close() {
	if c.process != nil && !c.process.ended() {
		c.process.kill()
	}
	c.amqp.Close()
	c.store.Close()
}

// buildConsole builds the console as it is shipped, or with the race detector.
func buildConsole(ctx context.Context, dir string, race bool) (string, error) {
	root, err := own.ModuleRoot()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "console")
	args, cgo := []string{"build", "-trimpath", "-o", path}, "CGO_ENABLED=0"
	if race { // with the flags of the other tests, whose packages are built already
		args, cgo = []string{"build", "-race", "-o", path}, "CGO_ENABLED=1"
	}
	build := exec.CommandContext(ctx, "go", append(args, "./cmd/console")...)
	build.Dir, build.Env = root, append(os.Environ(), cgo)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the console: %w\n%s", err, out)
	}
	return path, nil
}

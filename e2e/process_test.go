package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stopWithin is how long a program may take to end after SIGTERM.
const stopWithin = 30 * time.Second

// process is one of our programs, running. It is ended with its test.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error

	mu    sync.Mutex
	lines []string
}

// start runs a program; env is added to the test's own environment.
func start(t *testing.T, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(filepath.Join(binaries, name), args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), append([]string{"GORACE=halt_on_error=1"}, env...)...)
	out, in := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = in, in
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.collect(out)
	}()
	go func() {
		p.err = p.cmd.Wait()
		_ = in.Close() // a pipe's Close cannot fail
		<-read
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended by itself
		<-p.done
		if t.Failed() {
			t.Logf("%s %s:\n%s", name, strings.Join(args, " "), p.output())
		}
	})
	return p
}

func (p *process) collect(out io.Reader) {
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		p.mu.Lock()
		p.lines = append(p.lines, scanner.Text())
		p.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, out) // after a line too long to keep, the program must not block
}

// output is what the program has printed so far.
func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// stop asks the program to end, and fails the test unless it exits with 0 in time.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("SIGTERM: %v", err)
	}
	p.wait(t)
	if p.err != nil {
		t.Fatalf("after SIGTERM: %v", p.err)
	}
}

// wait returns when the program has ended.
func (p *process) wait(t *testing.T) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(stopWithin):
		t.Fatalf("still running after %v", stopWithin)
	}
}

// code is the exit code of a program that has ended.
func (p *process) code() int {
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok {
		return exit.ExitCode()
	}
	return 0
}

// run runs a program to its end and returns its exit code and output.
func run(t *testing.T, env []string, name string, args ...string) (int, string) {
	t.Helper()
	p := start(t, env, name, args...)
	p.wait(t)
	return p.code(), p.output()
}

// mustRun is run for what has to succeed.
func mustRun(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	code, out := run(t, env, name, args...)
	if code != 0 {
		t.Fatalf("%s: %s", fmt.Sprint(name, args), out)
	}
	return out
}

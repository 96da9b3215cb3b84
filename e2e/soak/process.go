package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/bench/own"
)

// stopWithin is how long a process may take to end when it is asked to.
const stopWithin = 30 * time.Second

// process is one that we started. Ctrl-C does not reach it: we end it.
type process struct {
	cmd  *exec.Cmd
	log  string // path of what it says
	done chan struct{}
	err  error // once done: how it ended
}

// launch starts cmd and adds what it says to the file log.
func launch(cmd *exec.Cmd, log string) (*process, error) {
	out, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, log: log, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// ended says whether the process is gone.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) signal(s syscall.Signal) error {
	err := p.cmd.Process.Signal(s)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// kill ends the process and its group at once, without a farewell.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may be gone
	<-p.done
}

// stop asks the process to end, and ends it by force if it does not.
func (p *process) stop(s syscall.Signal) error {
	_ = p.signal(syscall.SIGCONT)
	_ = p.signal(s)
	select {
	case <-p.done:
		return nil
	case <-time.After(stopWithin):
		p.kill()
		return fmt.Errorf("%s did not end within %v of %v", p.cmd.Path, stopWithin, s)
	}
}

// tail is the end of what the process said.
func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-3000):])
}

// command is one that no context ends: whoever started it does.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(context.WithoutCancel(ctx), name, args...)
}

// until asks again and again until the answer is yes, within a time. What an
// answer misses stands in its error.
func until(ctx context.Context, within time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, errLate)
	defer cancel()
	for {
		missing := ask(ctx)
		if missing == nil || errors.Is(missing, errEnded) {
			return missing
		}
		if err := own.Rest(ctx, 50*time.Millisecond); errors.Is(err, errLate) {
			return fmt.Errorf("after %v: %w", within, missing)
		} else if err != nil {
			return err
		}
	}
}

var errLate = errors.New("not in time")

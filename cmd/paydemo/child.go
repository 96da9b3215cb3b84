package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// child is a program that the demo runs.
type child struct {
	name, path, log string
	args, env       []string
}

const (
	// stopWithin is how long a child may take to end in order.
	stopWithin = 25 * time.Second
	// restartAfter is how long a killed consumer stays away.
	restartAfter = time.Second
)

// run runs the child until it ends, or until it has ended in order after ctx
// was cancelled. It belongs to a group of its own, so that Ctrl-C reaches the
// demo alone, and dies with the demo.
func (c child) run(ctx context.Context) error {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("paydemo: %s: %w", c.name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.env, log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWithin
	cmd.SysProcAttr = ownGroup()
	runtime.LockOSThread() // the child dies with the thread that started it
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	if err != nil && ctx.Err() != nil && cmd.ProcessState != nil && !wasKilled(err) {
		return nil // it was told to end
	}
	if err != nil {
		return fmt.Errorf("paydemo: %s (see %s): %w", c.name, c.log, err)
	}
	return nil
}

// runAgain runs the child, and again when it was killed, until ctx is
// cancelled. That it ends in another way is an error.
func (c child) runAgain(ctx context.Context) error {
	for {
		err := c.run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if !wasKilled(err) {
			return orEnded(ctx, "the "+c.name, err)
		}
		say("the " + c.name + " was killed; another one takes over")
		if !wait(ctx, restartAfter) {
			return nil
		}
	}
}

// wasKilled reports an end by kill -9.
func wasKilled(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// withoutDLO takes our variables out of an environment, so that a child knows
// only what the demo tells it.
func withoutDLO(environ []string) []string {
	var kept []string
	for _, v := range environ {
		if !strings.HasPrefix(v, "DLO_") {
			kept = append(kept, v)
		}
	}
	return kept
}

// Package own has what a program needs that starts servers of its own to
// measure or to kill them: a free port, the folder of the module, and how to run
// PostgreSQL as whoever it agrees to. bench and e2e/soak share it; it imports
// nothing of the house, and starts nothing itself.
package own

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// FreePort returns a port that nothing listens on at this moment.
func FreePort(ctx context.Context) (int, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// ModuleRoot returns the folder of go.mod, in which the program runs or below.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			err = errors.New("there is no go.mod at or above the working directory")
		}
		dir = up
	}
	return "", err
}

// PostgresPrograms returns the folder of the newest PostgreSQL server on this
// machine.
func PostgresPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is well formed
	newest, most := "", -1
	for _, path := range found {
		if version, err := strconv.Atoi(strings.Split(path, "/")[4]); err == nil && version > most {
			newest, most = path, version
		}
	}
	if newest != "" {
		return filepath.Dir(newest), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", fmt.Errorf("PostgreSQL is not installed: %w", err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

// GiveToPostgres gives a folder to the user that a server is to run as, and
// returns that user, nil for ourselves: PostgreSQL refuses root.
func GiveToPostgres(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nobody else is an answer
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2, os.Chown(dir, int(uid), int(gid))); err != nil { //nolint:gosec // 32 bits
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// Rest waits, and returns the cause where ctx ends before.
func Rest(ctx context.Context, wait time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
		return nil
	}
}

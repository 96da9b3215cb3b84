package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
)

// startTimeout is how long a server may take to answer, also on a busy machine.
const startTimeout = 20 * time.Second

// Server is a Redis process of a test's own. It keeps its data on disk, so a
// server started again knows what it knew when it was killed.
type Server struct {
	URL    string
	Client *redis.Client

	port    int
	root    string    // the folder that the server sees as /, or "": this machine's own
	dir     string    // of its data, as the server sees it
	process *exec.Cmd // nil: not running
}

// valkey is where a root that DLO_TEST_VALKEY_ROOT names has its server.
const valkey = "/usr/bin/valkey-server"

// Private starts a server on a free port and ends it with the test. It is the
// Valkey of the root that DLO_TEST_VALKEY_ROOT names, else this machine's Redis.
func Private(tb testing.TB) *Server {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs a real Redis")
	}
	port := freePort(tb)
	root := os.Getenv("DLO_TEST_VALKEY_ROOT")
	s := &Server{
		URL:  fmt.Sprintf("redis://127.0.0.1:%d/0", port),
		port: port,
		root: root,
		dir:  dataDir(tb, root),
	}
	s.Client = connect(tb, s.URL)
	s.Start(tb)
	tb.Cleanup(func() { s.Kill(tb) })
	return s
}

// Start starts the server on the port it had before and returns when it answers.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	if s.process != nil {
		tb.Fatal("redistest: the server already runs")
	}
	// No context ends this process: Kill does, which the cleanup calls.
	process := exec.CommandContext(context.WithoutCancel(tb.Context()), s.program(),
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--appendonly", "yes", "--appendfsync", "always")
	if s.root != "" {
		process.SysProcAttr = &syscall.SysProcAttr{Chroot: s.root}
		process.Dir = "/"
	}
	if err := process.Start(); err != nil {
		tb.Fatalf("redistest: start %s: %v", s.program(), err)
	}
	s.process = process
	poll.Until(tb, startTimeout, func() error { return s.Client.Ping(tb.Context()).Err() })
}

func (s *Server) program() string {
	if s.root != "" {
		return valkey
	}
	return "redis-server"
}

// dataDir returns a folder that goes with the test, by its name within root.
func dataDir(tb testing.TB, root string) string {
	tb.Helper()
	if root == "" {
		return tb.TempDir()
	}
	dir, err := os.MkdirTemp(filepath.Join(root, "tmp"), "redistest-")
	if err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("redistest: %v", err)
		}
	})
	return strings.TrimPrefix(dir, root)
}

// Kill ends the server at once, without a farewell to its clients. It does
// nothing if the server does not run.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	if s.process == nil {
		return
	}
	s.signal(tb, syscall.SIGKILL)
	_ = s.process.Wait() // reports the signal just sent
	s.process = nil
}

// Pause stops the server from answering while its connections stay open, the
// way an overloaded server looks. Resume lets it go on.
func (s *Server) Pause(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGSTOP)
}

// Resume ends a Pause.
func (s *Server) Resume(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGCONT)
}

func (s *Server) signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		tb.Fatalf("redistest: signal %v: %v", sig, err)
	}
}

// freePort returns a port that nothing listens on at this moment.
func freePort(tb testing.TB) int {
	tb.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("redistest: find a free port: %v", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

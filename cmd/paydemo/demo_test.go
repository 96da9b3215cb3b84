package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/redistest"
	testservices "github.com/seed-d2bf649b/dead-letter-office/internal/testkit/services"
)

// stage is a place for demos of one test.
type stage struct {
	s         services
	v         *rabbittest.Vhost // another one, for its management helper
	name, dir string
	console   string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	v := rabbittest.New(t)
	st := &stage{
		s: services{
			postgres: testservices.URL(t, "POSTGRES"), amqp: testservices.URL(t, "AMQP"),
			redis: redistest.New(t).URL, management: v.ManagementURL,
		},
		v: v, name: "t" + strings.ToLower(rand.Text()[:8]), dir: t.TempDir(),
	}
	st.console = filepath.Join(t.TempDir(), "console")
	if err := os.Symlink(os.Args[0], st.console); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if err := manage(ctx, st.s, http.MethodDelete, "/api/vhosts/dlo-"+st.name, ""); err != nil {
			t.Error(err)
		}
		conn, err := pgx.Connect(ctx, st.s.postgres)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(ctx)
		for _, part := range []string{"pay", "console"} {
			if _, err := conn.Exec(ctx, fmt.Sprintf(`DROP DATABASE IF EXISTS dlo_%s_%s WITH (FORCE)`, st.name, part)); err != nil {
				t.Error(err)
			}
		}
	})
	return st
}

// show is a demo that runs as a process.
type show struct {
	cmd  *exec.Cmd
	out  safeBuffer
	errs safeBuffer
	done chan error
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (st *stage) start(t *testing.T, args ...string) *show {
	t.Helper()
	d := &show{done: make(chan error, 1)}
	args = append([]string{
		"demo", "-name", st.name, "-dir", st.dir, "-console", st.console,
		"-listen", "127.0.0.1:0", "-page", "127.0.0.1:0", "-tiers", "50ms,60ms,70ms", "-rate", "20",
	}, args...)
	d.cmd = exec.CommandContext(context.Background(), os.Args[0], args...)
	d.cmd.Env = append(withoutDLO(os.Environ()), append(st.s.environ(), "PAYDEMO_MAIN=1")...)
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.errs
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { d.done <- d.cmd.Wait() }()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it may have ended by itself
		if t.Failed() {
			t.Logf("demo:\n%s%s", d.out.String(), d.errs.String())
		}
	})
	return d
}

func (d *show) announced(t *testing.T) {
	t.Helper()
	poll.True(t, time.Minute, "the address", func() bool { return strings.Contains(d.out.String(), "\n") })
}

// end signals the demo and returns how it ended.
func (d *show) end(t *testing.T, sig os.Signal) error {
	t.Helper()
	if err := d.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-d.done:
		return err
	case <-time.After(soon):
		t.Fatal("the demo does not end")
		return nil
	}
}

func (st *stage) book(t *testing.T) book {
	t.Helper()
	url, err := prepareDatabase(t.Context(), st.s.postgres, "dlo_"+st.name+"_pay", true)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := openDatabase(t.Context(), url, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	b, err := readBook(t.Context(), pool, "")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (st *stage) orders(t *testing.T) (n int64) {
	t.Helper()
	for _, count := range st.book(t).Counts {
		n += count
	}
	return n
}

// The whole story with a stand-in for the console: it lives, it fails, its
// consumer is killed and comes back, it ends in order and begins afresh.
func TestDemoRunsStopsAndRunsAgain(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	first := st.start(t)
	first.announced(t)
	if out := first.out.String(); strings.Count(out, "http") != 1 || !strings.HasPrefix(out, "Dead Letter Office: http://127.0.0.1:") {
		t.Errorf("standard output is not one address:\n%s", out)
	}
	poll.True(t, time.Minute, "a consumer killed and started again", func() bool {
		return strings.Contains(first.errs.String(), "the consumer was killed")
	})
	broker, err := prepareVhost(t.Context(), st.s, "dlo-"+st.name, true)
	if err != nil {
		t.Fatal(err)
	}
	depth := func() int {
		n, err := readyIn(broker, queueTerminal)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	poll.True(t, time.Minute, "dead letters", func() bool { return depth() >= 3 })
	settings, err := os.ReadFile(filepath.Join(st.dir, "console.yaml"))
	if err != nil || !strings.Contains(string(settings), "dlo-"+st.name) {
		t.Errorf("settings: %v\n%s", err, settings)
	}

	other := st.start(t)
	if err := <-other.done; err == nil || !strings.Contains(other.errs.String(), "another demo runs") {
		t.Errorf("a second demo in the same place: %v", err)
	}
	if err := first.end(t, os.Interrupt); err != nil {
		t.Errorf("the demo ended with %v", err)
	}
	if consumers, err := consumersOf(broker, queuePay); err != nil || consumers != 0 {
		t.Errorf("%d consumers are left, %v", consumers, err)
	}
	if b := st.book(t); b.Twice != 0 || b.Unbalanced != 0 || b.Counts["PAID"] < 5 {
		t.Errorf("books %+v, charged twice %d, do not add up %d", b.Counts, b.Twice, b.Unbalanced)
	}

	before := st.orders(t)
	kept := st.start(t, "-keep")
	kept.announced(t)
	if err := kept.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("the demo ended with %v", err)
	}
	if n := st.orders(t); n < before {
		t.Errorf("-keep left %d orders of %d", n, before)
	}
	fresh := st.start(t, "-rate", "0.1")
	fresh.announced(t)
	if err := fresh.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("the demo ended with %v", err)
	}
	if n := st.orders(t); n >= before {
		t.Errorf("a fresh demo begins with %d orders", n)
	}
}

func TestDemoWithoutAConsoleSaysSo(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.console += "-that-is-not-there"
	d := st.start(t)
	if err := <-d.done; err == nil || !strings.Contains(d.errs.String(), "console migrate") {
		t.Errorf("it ended with %v", err)
	}
}

func TestDemoOnAllAddressesIsReachedByName(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]consoleConf{
		"127.0.0.1:0": {Open: false, Address: "http://127.0.0.1:"},
		"0.0.0.0:0":   {Open: true, Address: "http://localhost:"},
	} {
		c, err := newConsoleConf(t.Context(), demoOptions{listen: listen}, place{}, "")
		if err != nil || c.Open != want.Open || !strings.HasPrefix(c.Address, want.Address) {
			t.Errorf("%s: %+v, %v", listen, c, err)
		}
	}
}

func TestDemoWithoutServicesSaysWhatToDo(t *testing.T) {
	t.Parallel()
	o := demoOptions{name: "x", rate: 1, times: "1s,1s,1s"}
	if err := o.complete(services{postgres: "x", redis: "x"}); err == nil || !strings.Contains(err.Error(), "scripts/services start") {
		t.Errorf("%v", err)
	}
}

package cutproxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/cutproxy"
)

// echo answers each line with itself until the test ends.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return listener.Addr().String()
}

func connect(t *testing.T, p *cutproxy.Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func say(t *testing.T, conn net.Conn, line string) {
	t.Helper()
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func hears(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	got, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || got != want+"\n" {
		t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

func hearsNothing(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("heard %d bytes, %v; want silence", n, err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
}

func TestForwardsBothWays(t *testing.T) {
	t.Parallel()
	conn := connect(t, cutproxy.New(t, echo(t)))
	say(t, conn, "hello")
	hears(t, conn, "hello")
}

func TestCutDropsConnectionsAndTakesNewOnes(t *testing.T) {
	t.Parallel()
	p := cutproxy.New(t, echo(t))
	conn := connect(t, p)
	say(t, conn, "hello")
	hears(t, conn, "hello")
	p.Cut()
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("connection still stands after Cut: %v", err)
	}
	again := connect(t, p)
	say(t, again, "hello")
	hears(t, again, "hello")
}

func TestRefusedConnectionsEndAtOnce(t *testing.T) {
	t.Parallel()
	p := cutproxy.New(t, echo(t))
	p.Refuse(true)
	if _, err := connect(t, p).Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("refused connection still stands: %v", err)
	}
	p.Refuse(false)
	conn := connect(t, p)
	say(t, conn, "hello")
	hears(t, conn, "hello")
}

func TestHoldKeepsBackAndLetsGo(t *testing.T) {
	t.Parallel()
	p := cutproxy.New(t, echo(t))
	conn := connect(t, p)
	p.Hold(true)
	say(t, conn, "hello")
	hearsNothing(t, conn)
	p.Hold(false)
	hears(t, conn, "hello")
}

func TestAnswersAreHeldFromTheMarkerOn(t *testing.T) {
	t.Parallel()
	p := cutproxy.New(t, echo(t))
	conn := connect(t, p)
	reached := p.HoldAnswersAfter([]byte("now"))
	say(t, conn, "before")
	hears(t, conn, "before")
	say(t, conn, "now")
	<-reached
	hearsNothing(t, conn)
	p.HoldAnswers(false)
	hears(t, conn, "now")
}

func TestInjectedBytesReachTheClient(t *testing.T) {
	t.Parallel()
	p := cutproxy.New(t, echo(t))
	conn := connect(t, p)
	say(t, conn, "hello")
	hears(t, conn, "hello")
	p.Inject([]byte("forged\n"))
	hears(t, conn, "forged")
}

// Package cutproxy stands between a client and a server in tests and breaks
// the line between them when told to. It knows nothing of what passes.
package cutproxy

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy forwards TCP connections to one server.
type Proxy struct {
	listener net.Listener
	target   string
	pumps    sync.WaitGroup
	requests gate // client to server
	answers  gate // server to client

	mu      sync.Mutex
	closed  bool
	refuse  bool
	marker  []byte
	links   map[*link]struct{}
	reached chan struct{}
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	gone           chan struct{}
	once           sync.Once
	write          sync.Mutex // held while bytes go to the client
}

// New starts a proxy to target (host:port) that ends with the test.
func New(tb testing.TB, target string) *Proxy {
	tb.Helper()
	p, err := Open(target)
	if err != nil {
		tb.Fatalf("cutproxy: %v", err)
	}
	tb.Cleanup(p.Close)
	return p
}

// Open is New where there is no test; Close ends the proxy.
func Open(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, target: target, links: map[*link]struct{}{}}
	p.pumps.Go(p.accept)
	return p, nil
}

// Addr returns where the proxy listens, as host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Cut drops all connections that stand now. New ones are taken as before.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// Refuse makes the proxy drop new connections as soon as they come, or take
// them again. Those that stand are left alone.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}

// Hold makes the proxy forward nothing in either direction, though it still
// takes connections, or go on with what it kept back.
func (p *Proxy) Hold(on bool) {
	p.requests.set(on)
	p.answers.set(on)
}

// HoldAnswers is Hold for what the server says to clients.
func (p *Proxy) HoldAnswers(on bool) { p.answers.set(on) }

// HoldAnswersAfter makes the proxy hold the answers from the moment in which a
// client sends marker, which itself is forwarded. The channel returned is
// closed at that moment. A marker counts if it comes within one write; an empty
// one never comes, which takes an earlier one back.
func (p *Proxy) HoldAnswersAfter(marker []byte) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marker, p.reached = marker, make(chan struct{})
	return p.reached
}

// Inject sends bytes to all clients as if the server had. It is for lines that
// are quiet: what the server says may come in pieces.
func (p *Proxy) Inject(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.write.Lock()
		_, _ = l.client.Write(b)
		l.write.Unlock()
	}
}

// Connections returns how many connections stand.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Close drops all connections and takes no more.
func (p *Proxy) Close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for l := range p.links {
		l.cut()
	}
	p.mu.Unlock()
	p.pumps.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.pumps.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	refuse := p.refuse
	p.mu.Unlock()
	if refuse {
		return
	}
	server, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil {
		return
	}
	l := &link{client: client, server: server, gone: make(chan struct{})}
	if !p.add(l) {
		return
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { p.forward(l) })
	pumps.Go(func() { p.backward(l) })
	pumps.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.cut()
		return false
	}
	p.links[l] = struct{}{}
	return true
}

func (p *Proxy) forward(l *link) {
	defer l.cut()
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(buffer)
		p.look(buffer[:n])
		if !p.requests.pass(l.gone) {
			return
		}
		if _, werr := l.server.Write(buffer[:n]); err != nil || werr != nil {
			return
		}
	}
}

func (p *Proxy) backward(l *link) {
	defer l.cut()
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buffer)
		if !p.answers.pass(l.gone) {
			return
		}
		l.write.Lock()
		_, werr := l.client.Write(buffer[:n])
		l.write.Unlock()
		if err != nil || werr != nil {
			return
		}
	}
}

// look shuts the gate for answers if b holds the marker.
func (p *Proxy) look(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.marker) == 0 || !bytes.Contains(b, p.marker) {
		return
	}
	p.answers.set(true)
	p.marker = nil
	close(p.reached)
}

func (l *link) cut() {
	l.once.Do(func() {
		close(l.gone)
		l.client.Close()
		l.server.Close()
	})
}

// gate lets pass or holds. Its zero value lets pass.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // nil: open
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case shut && g.open == nil:
		g.open = make(chan struct{})
	case !shut && g.open != nil:
		close(g.open)
		g.open = nil
	}
}

// pass waits until the gate is open, or returns false once gone is closed: what
// a cut connection held back must not slip through.
func (g *gate) pass(gone <-chan struct{}) bool {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if open == nil {
		return true
	}
	select {
	case <-gone:
		return false
	case <-open:
		return true
	}
}

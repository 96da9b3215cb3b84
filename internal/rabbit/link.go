package rabbit

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	firstPause = 250 * time.Millisecond
	maxPause   = 5 * time.Second
)

// backoff is the pause before the next attempt to connect.
type backoff struct{ pause time.Duration }

func (b *backoff) failed()    { b.pause = min(maxPause, max(firstPause, 2*b.pause)) }
func (b *backoff) succeeded() { b.pause = 0 }

// link is a publisher's connection and what the broker says of it.
type link struct {
	conn *conn

	mu      sync.Mutex
	reason  string        // why the broker blocks publishers
	blocked chan struct{} // closed while it does
}

// blockade returns a channel that is closed once the broker blocks publishers.
func (l *link) blockade() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.blocked
}

// isBlocked reports whether the broker blocks publishers.
func (l *link) isBlocked() bool {
	select {
	case <-l.blockade():
		return true
	default:
		return false
	}
}

// blockedError is what to say of a message that was not sent, with the reason
// that the broker gave last.
func (l *link) blockedError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Errorf("not sent: %w: %s", ErrBlocked, l.reason)
}

func (l *link) heard(word amqp.Blocking) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if word.Active {
		l.reason = word.Reason
	}
	select {
	case <-l.blocked:
		if !word.Active {
			l.blocked = make(chan struct{})
		}
	default:
		if word.Active {
			close(l.blocked)
		}
	}
}

// watch follows the broker's word until the connection is gone.
func (l *link) watch(words <-chan amqp.Blocking, log *slog.Logger) {
	for word := range words {
		l.heard(word)
		if word.Active {
			log.Warn("broker blocks publishers", "reason", word.Reason)
		} else {
			log.Info("broker takes messages again")
		}
	}
}

// attempt is an attempt to connect that all who need the connection share.
type attempt struct {
	done chan struct{}
	link *link
	err  error
}

// connected returns the connection, or makes one.
func (p *Publisher) connected(ctx context.Context) (*link, error) {
	p.mu.Lock()
	if p.life.Err() != nil {
		p.mu.Unlock()
		return nil, errClosed
	}
	if p.link != nil && !p.link.conn.IsClosed() {
		defer p.mu.Unlock()
		return p.link, nil
	}
	if p.attempt == nil {
		p.attempt = &attempt{done: make(chan struct{})}
		a, pause := p.attempt, p.backoff.pause
		p.running.Go(func() { p.connect(a, pause) })
	}
	a := p.attempt
	p.mu.Unlock()
	select {
	case <-a.done:
		return a.link, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("rabbit: connect to %s: %w: %w", redacted(p.url), ErrUnavailable, ctx.Err())
	}
}

// connect makes one attempt, after a pause if the one before has failed.
func (p *Publisher) connect(a *attempt, pause time.Duration) {
	select {
	case <-time.After(pause):
	case <-p.life.Done():
	}
	c, err := dial(p.life, p.url, p.name)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(a.done)
	p.attempt = nil
	if err != nil {
		p.backoff.failed()
		a.err = err
		return
	}
	if p.life.Err() != nil {
		c.cut()
		a.err = errClosed
		return
	}
	p.backoff.succeeded()
	l := &link{conn: c, blocked: make(chan struct{})}
	words := c.NotifyBlocked(make(chan amqp.Blocking, 8))
	p.running.Go(func() { l.watch(words, p.log) })
	p.link, a.link = l, l
}

package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// publisher puts copies on the ladder, over a connection of its own: a broker
// that is short of memory stops reading from connections that publish. It
// sends one message at a time, so that a return belongs to it and to no other.
type publisher struct {
	url, name string
	patience  time.Duration

	mu      sync.Mutex
	conn    *amqp.Connection
	line    net.Conn
	ch      *amqp.Channel
	returns chan amqp.Return
	closed  chan *amqp.Error
}

// publish returns nil once the broker has confirmed m and has routed it to a
// queue. After any error the copy may be there or not.
func (p *publisher) publish(ctx context.Context, to Address, m amqp.Publishing) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	if err := p.open(ctx); err != nil {
		return err
	}
	if err := p.send(ctx, to, m); err != nil {
		p.shut()
		return fmt.Errorf("publish to %q with key %q: %w", to.Exchange, to.RoutingKey, err)
	}
	return nil
}

// send publishes and waits. The line is cut when ctx ends, because writing to
// a broker that does not read would wait for ever.
func (p *publisher) send(ctx context.Context, to Address, m amqp.Publishing) error {
	stop := context.AfterFunc(ctx, func() { _ = p.line.Close() })
	defer stop()
	confirm, err := p.ch.PublishWithDeferredConfirmWithContext(ctx, to.Exchange, to.RoutingKey, true, false, m)
	if err != nil {
		return err
	}
	acked, err := confirm.WaitContext(ctx)
	if err != nil {
		return fmt.Errorf("no confirm: %w", err)
	}
	if !acked {
		return p.whyNot()
	}
	select { // the broker returns a message before it acks it
	case r := <-p.returns:
		return fmt.Errorf("not routed to any queue (%d %s)", r.ReplyCode, r.ReplyText)
	default:
		return nil
	}
}

// whyNot tells a nack from a channel that was closed under the message.
func (p *publisher) whyNot() error {
	select {
	case err := <-p.closed:
		if err != nil {
			return err
		}
		return amqp.ErrClosed
	case <-time.After(100 * time.Millisecond):
		return errors.New("refused by the broker")
	}
}

// open sees to it that there is a channel in confirm mode.
func (p *publisher) open(ctx context.Context) error {
	if p.ch != nil && !p.ch.IsClosed() && !p.conn.IsClosed() {
		return nil
	}
	p.shut()
	conn, line, err := dial(ctx, p.url, p.name, p.patience)
	if err != nil {
		return err
	}
	p.conn, p.line = conn, line
	stop := context.AfterFunc(ctx, func() { _ = line.Close() })
	defer stop()
	ch, err := conn.Channel()
	if err == nil {
		err = ch.Confirm(false)
	}
	if err != nil {
		p.shut()
		return fmt.Errorf("open a channel to publish: %w", err)
	}
	p.ch = ch
	p.returns = ch.NotifyReturn(make(chan amqp.Return, 1))
	p.closed = ch.NotifyClose(make(chan *amqp.Error, 1))
	return nil
}

// shut closes the connection; the next publish opens another.
func (p *publisher) shut() {
	if p.conn != nil {
		_ = p.conn.CloseDeadline(time.Now().Add(time.Second))
	}
	p.conn, p.line, p.ch = nil, nil, nil
}

func (p *publisher) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut()
}

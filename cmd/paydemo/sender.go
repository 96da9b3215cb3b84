package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// sender is the gateway's side of the broker. It connects again when it has to.
type sender struct {
	url string

	mu      sync.Mutex
	conn    *amqp.Connection
	ch      *amqp.Channel
	returns chan amqp.Return
}

const sendTimeout = 10 * time.Second

// send returns nil once the broker has the message in the queue.
func (s *sender) send(ctx context.Context, m paySuccess) error {
	p, err := m.publishing()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return fmt.Errorf("connect to the broker: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	confirm, err := s.ch.PublishWithDeferredConfirmWithContext(ctx, exchangePay, keyPay, true, false, p)
	if err != nil {
		s.shut()
		return fmt.Errorf("send order %s: %w", m.OrderNo, err)
	}
	acked, err := confirm.WaitContext(ctx)
	if err != nil || !acked {
		s.shut()
		return errors.Join(fmt.Errorf("send order %s: not confirmed", m.OrderNo), err)
	}
	select {
	case <-s.returns:
		return errNoTopology
	default:
		return nil
	}
}

func (s *sender) open() error {
	if s.ch != nil && !s.ch.IsClosed() && !s.conn.IsClosed() {
		return nil
	}
	s.shut()
	conn, err := amqp.Dial(s.url)
	if err != nil {
		return err
	}
	s.conn = conn
	if s.ch, err = conn.Channel(); err != nil {
		return err
	}
	s.returns = s.ch.NotifyReturn(make(chan amqp.Return, 1))
	return s.ch.Confirm(false)
}

func (s *sender) shut() {
	if s.conn != nil {
		_ = s.conn.CloseDeadline(time.Now().Add(time.Second))
	}
	s.conn, s.ch = nil, nil
}

func (s *sender) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut()
}

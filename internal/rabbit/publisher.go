package rabbit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// ReplayExchangePrefix opens the names of the exchanges that the console owns.
const ReplayExchangePrefix = "dlo.replay."

// confirmTimeout is how long a broker may take to confirm a message.
const confirmTimeout = 30 * time.Second

// Publisher sends messages and says what became of each. It has a connection
// of its own, so that a broker that blocks publishers does not stop the drains,
// and connects when it is needed and again when that was lost. Each message has
// a channel of its own: what the broker closes because of one message harms no
// other. It is safe for concurrent use.
type Publisher struct {
	url, name      string
	log            *slog.Logger
	confirmTimeout time.Duration

	life    context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	link    *link    // the connection; nil: none yet
	attempt *attempt // to connect; nil: none under way
	backoff backoff
}

// NewPublisher returns a publisher that connects on first use, under a name
// that the broker's operators see. log may be nil.
func NewPublisher(url, name string, log *slog.Logger) *Publisher {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	life, end := context.WithCancel(context.Background())
	return &Publisher{url: url, name: name, log: log, confirmTimeout: confirmTimeout, life: life, end: end}
}

// Publish sends m as mandatory and waits until the broker has confirmed it.
// nil means that at least one queue took it. Otherwise the error is
//
//   - ErrReturned: no queue took it.
//   - ErrRefused: the broker refused it, or it was not sent because the broker
//     could not take it.
//   - ErrBlocked, ErrUnavailable: it was not sent.
//   - ErrUnknown: it was sent and the answer did not come. It may be there.
//
// If ctx ends, Publish returns at once, with ErrUnavailable or ErrUnknown.
func (p *Publisher) Publish(ctx context.Context, m Message) error {
	l, err := p.connected(ctx)
	if err != nil {
		return err
	}
	if err := checkMessage(m, l.conn.Config.FrameSize); err != nil {
		return fmt.Errorf("rabbit: publish to %s: not sent: %w: %w", place(m), ErrRefused, err)
	}
	t := &transmission{link: l, message: m, timeout: p.confirmTimeout, done: make(chan error, 1)}
	if !p.spawn(t.run) {
		return errClosed
	}
	if err := t.wait(ctx); err != nil {
		return fmt.Errorf("rabbit: publish to %s: %w", place(m), err)
	}
	return nil
}

// BindReplayExchange makes sure that the console's own direct exchange for
// queue exists and is bound to it with routingKey, and returns its name. It
// returns ErrQueueMissing, ErrRefused where the user may not do that, or
// ErrUnavailable.
func (p *Publisher) BindReplayExchange(ctx context.Context, queue, routingKey string) (string, error) {
	exchange := ReplayExchangePrefix + queue
	if len(exchange) > maxShort {
		return "", fmt.Errorf("rabbit: bind replay exchange: %w: the name of the queue is too long for it", ErrRefused)
	}
	err := p.onChannel(ctx, func(ch *amqp.Channel) error {
		if err := ch.ExchangeDeclare(exchange, amqp.ExchangeDirect, true, false, false, false, nil); err != nil {
			return err
		}
		return ch.QueueBind(queue, routingKey, exchange, false, nil)
	})
	if err != nil {
		return "", fmt.Errorf("rabbit: bind %s to queue %s: %w", exchange, queue, declareError(err))
	}
	return exchange, nil
}

// Close disconnects. A message that is under way and not confirmed by then is
// ErrUnknown to its sender.
func (p *Publisher) Close() error {
	p.mu.Lock()
	p.end()
	l := p.link
	p.link = nil
	p.mu.Unlock()
	var err error
	if l != nil {
		err = l.conn.shut()
	}
	p.running.Wait()
	if err != nil {
		return fmt.Errorf("rabbit: disconnect: %w", err)
	}
	return nil
}

var errClosed = fmt.Errorf("rabbit: the publisher is closed: %w", ErrUnavailable)

// spawn runs f in a goroutine that Close waits for, or reports that the
// publisher is closed.
func (p *Publisher) spawn(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		return false
	}
	p.running.Go(f)
	return true
}

// onChannel runs step on a channel of its own. It returns when ctx ends, though
// the broker may be at it still.
func (p *Publisher) onChannel(ctx context.Context, step func(*amqp.Channel) error) error {
	l, err := p.connected(ctx)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	work := func() {
		ch, err := l.conn.Channel()
		if err == nil {
			err = step(ch)
			_ = ch.Close()
		}
		done <- err
	}
	if !p.spawn(work) {
		return errClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// declareError tells apart why the broker did not declare or bind.
func declareError(err error) error {
	var e *amqp.Error
	if errors.As(err, &e) && e.Server && e.Recover && e.Code != amqp.NotFound {
		return fmt.Errorf("%w: %s", ErrRefused, e.Reason)
	}
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	return callError(err)
}

// place names where a message goes, for people.
func place(m Message) string {
	if m.Exchange == "" {
		return fmt.Sprintf("queue %q", m.RoutingKey)
	}
	return fmt.Sprintf("exchange %q with routing key %q", m.Exchange, m.RoutingKey)
}

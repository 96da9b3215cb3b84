package rabbit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// The stages of a transmission. Only one of its two goroutines can leave
// stagePreparing, so that it is never in doubt whether a message was sent.
const (
	stagePreparing int32 = iota
	stageSending
	stageAbandoned
)

// transmission is one message on its way, on a channel of its own.
type transmission struct {
	link    *link
	message Message
	timeout time.Duration
	stage   atomic.Int32
	done    chan error
}

// wait returns what became of the message. If ctx ends first, the message is
// stopped if it still can be.
func (t *transmission) wait(ctx context.Context) error {
	select {
	case err := <-t.done:
		return err
	case <-t.link.blockade():
		if t.stop() {
			return t.link.blockedError()
		}
	case <-ctx.Done():
		if t.stop() {
			return fmt.Errorf("not sent: %w: %w", ErrUnavailable, ctx.Err())
		}
	}
	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-t.done:
		return err
	default:
		return fmt.Errorf("%w: sent, and not waited for the broker's answer: %w", ErrUnknown, ctx.Err())
	}
}

// stop makes sure that the message is not sent, or reports that it is too late.
func (t *transmission) stop() bool {
	return t.stage.CompareAndSwap(stagePreparing, stageAbandoned)
}

// run opens a channel, sends and waits for the answer.
func (t *transmission) run() {
	if t.link.isBlocked() {
		t.done <- t.link.blockedError()
		return
	}
	ch, err := t.link.conn.Channel()
	if err != nil {
		t.done <- fmt.Errorf("not sent: %w: %w", ErrUnavailable, err)
		return
	}
	t.done <- t.send(ch)
	// The broker answers this late or never while it is blocked; then the end
	// of the connection ends the wait.
	_ = ch.Close()
}

func (t *transmission) send(ch *amqp.Channel) error {
	a := answer{
		returned: ch.NotifyReturn(make(chan amqp.Return, 1)),
		closed:   ch.NotifyClose(make(chan *amqp.Error, 1)),
		delayed:  delayed(t.message),
	}
	if err := ch.Confirm(false); err != nil {
		return fmt.Errorf("not sent: %w: %w", ErrUnavailable, err)
	}
	if t.link.isBlocked() {
		return t.link.blockedError()
	}
	if !t.stage.CompareAndSwap(stagePreparing, stageSending) {
		return fmt.Errorf("not sent: %w: nobody waits for it any more", ErrUnavailable)
	}
	confirm, err := ch.PublishWithDeferredConfirm(t.message.Exchange, t.message.RoutingKey, true, false, publishing(t.message))
	if err != nil {
		return sendError(err)
	}
	timeout := time.NewTimer(t.timeout)
	defer timeout.Stop()
	select {
	case <-confirm.Done():
		return a.read(confirm.Acked())
	case <-timeout.C:
		if r, ok := a.takeReturn(); ok {
			return a.unroutable(r)
		}
		return t.unanswered()
	}
}

// sendError tells what an error of the client library means for the message.
// Where it says that the channel is closed, at least one frame of the message
// was not written. Any other error may come after all of it was: another
// channel's flush may have taken it along.
func sendError(err error) error {
	if errors.Is(err, amqp.ErrClosed) {
		return fmt.Errorf("not sent: %w: %w", ErrUnavailable, err)
	}
	return fmt.Errorf("%w: the connection was lost while sending: %w", ErrUnknown, err)
}

func (t *transmission) unanswered() error {
	if t.link.isBlocked() {
		return fmt.Errorf("%w: sent just before the broker said that it blocks publishers; "+
			"it may take the message when that ends", ErrUnknown)
	}
	return fmt.Errorf("%w: no answer within %s", ErrUnknown, t.timeout)
}

// answer collects what the broker says about the one message of a channel. It
// sends a return before the confirm, and the client library hands both on in
// that order.
type answer struct {
	returned <-chan amqp.Return
	closed   <-chan *amqp.Error
	delayed  bool
}

// read says what the answer means once the confirm is there, or can no longer
// come. The client library has the same word for a nack and for a lost channel.
func (a answer) read(acked bool) error {
	if r, ok := a.takeReturn(); ok {
		return a.unroutable(r)
	}
	if acked {
		return nil
	}
	select {
	case e := <-a.closed:
		return closeError(e)
	default:
		return fmt.Errorf("%w: negative confirm; the queue may be full or without a quorum", ErrRefused)
	}
}

func (a answer) takeReturn() (amqp.Return, bool) {
	select {
	case r, ok := <-a.returned:
		return r, ok
	default:
		return amqp.Return{}, false
	}
}

func (a answer) unroutable(r amqp.Return) error {
	if a.delayed {
		return fmt.Errorf("%w: returned as unroutable (%s), which an x-delayed-message exchange also says "+
			"of what it delivers later", ErrUnknown, r.ReplyText)
	}
	return fmt.Errorf("%w: %d %s", ErrReturned, r.ReplyCode, r.ReplyText)
}

// closeError tells what the end of the channel means for the message on it: a
// channel error is the broker's refusal of this message; the end of the
// connection says nothing.
func closeError(e *amqp.Error) error {
	switch {
	case e == nil:
		return fmt.Errorf("%w: the connection was closed before the answer", ErrUnknown)
	case e.Server && e.Recover:
		return fmt.Errorf("%w: %s", ErrRefused, e.Reason)
	}
	return fmt.Errorf("%w: the connection was lost before the answer: %s", ErrUnknown, e.Reason)
}

// delayed reports whether m asks an x-delayed-message exchange for a delay. The
// type of the exchange is not known over AMQP; the header is.
func delayed(m Message) bool {
	value, ok := m.Headers["x-delay"]
	if !ok || m.Exchange == "" {
		return false
	}
	text := strings.TrimSpace(fmt.Sprint(value))
	n, err := strconv.ParseFloat(text, 64)
	return err != nil || n > 0
}

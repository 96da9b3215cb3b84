package rabbit

import (
	"context"
	"fmt"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Inspector looks at queues over a connection of its own, which it makes when
// it needs one. Its questions need no permission but to connect on brokers
// before 4.3. It is safe for concurrent use, one question at a time.
type Inspector struct {
	url, name string

	mu   sync.Mutex
	conn *conn
}

// NewInspector returns an inspector that connects on first use, under a name
// that the broker's operators see.
func NewInspector(url, name string) *Inspector { return &Inspector{url: url, name: name} }

// Depth returns how many messages queue has ready and how many consumers, or
// ErrQueueMissing or ErrUnavailable. What is delivered and unacked is not
// counted; a quorum queue whose leader does not answer counts as empty.
func (i *Inspector) Depth(ctx context.Context, queue string) (ready int64, consumers int, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.connect(ctx); err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, i.conn.cut)()
	q, err := inspect(i.conn, queue)
	if err != nil {
		return 0, 0, fmt.Errorf("rabbit: read depth of %s: %w", queue, callError(err))
	}
	return int64(q.Messages), q.Consumers, nil
}

// Close disconnects.
func (i *Inspector) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.conn == nil {
		return nil
	}
	err := i.conn.shut()
	i.conn = nil
	if err != nil {
		return fmt.Errorf("rabbit: disconnect: %w", err)
	}
	return nil
}

// Depth asks one question about a queue, as Inspector.Depth does, over a
// connection that it makes for that.
func Depth(ctx context.Context, url, queue string) (ready int64, consumers int, err error) {
	i := NewInspector(url, "dead letter office: depth")
	defer i.Close()
	return i.Depth(ctx, queue)
}

func (i *Inspector) connect(ctx context.Context) error {
	if i.conn != nil && !i.conn.IsClosed() {
		return nil
	}
	c, err := dial(ctx, i.url, i.name)
	if err != nil {
		return err
	}
	i.conn = c
	return nil
}

// inspect asks on a channel of its own: the broker closes it if there is no
// such queue.
func inspect(c *conn, queue string) (amqp.Queue, error) {
	ch, err := c.Channel()
	if err != nil {
		return amqp.Queue{}, err
	}
	defer ch.Close()
	return ch.QueueDeclarePassive(queue, false, false, false, false, nil)
}

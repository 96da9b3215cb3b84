package rabbit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// dialTimeout bounds a connection attempt including TLS and login.
	dialTimeout = 10 * time.Second
	// callTimeout bounds a question to the broker that blocks its caller. A
	// connection on which one takes longer is cut.
	callTimeout = 15 * time.Second
	// closeTimeout bounds the goodbye to the broker.
	closeTimeout = 3 * time.Second
	// writeTimeout is how long a broker may refuse to take bytes.
	writeTimeout = 30 * time.Second
)

// conn is a connection whose socket can be cut: the client library waits for
// answers without a limit, and only the loss of the socket ends such a wait.
type conn struct {
	*amqp.Connection
	socket net.Conn
	filter *filter // nil: the client library reads the broker's bytes itself
}

// dial connects to the broker. Its errors are ErrUnavailable, and another one
// where the broker says why; they hold neither the URL's password nor the cause
// of a URL that does not parse.
func dial(ctx context.Context, rawURL, name string) (*conn, error) {
	return dialThrough(ctx, rawURL, name, func(c *conn, socket net.Conn) net.Conn { return socket })
}

// dialFiltered is dial with a filter that takes content headers of up to
// frameMax bytes.
func dialFiltered(ctx context.Context, rawURL, name string, frameMax int) (*conn, error) {
	return dialThrough(ctx, rawURL, name, func(c *conn, socket net.Conn) net.Conn {
		c.filter = newFilter(socket, frameMax)
		return c.filter
	})
}

// dialThrough is dial with something between TLS and the client library.
func dialThrough(ctx context.Context, rawURL, name string, wrap func(*conn, net.Conn) net.Conn) (*conn, error) {
	uri, err := amqp.ParseURI(rawURL)
	if err != nil {
		return nil, fmt.Errorf("rabbit: connect: the AMQP URL is not valid: %w", ErrUnavailable)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeoutOf(uri))
	defer cancel()
	c := &conn{}
	stop := func() bool { return true }
	properties := amqp.NewConnectionProperties()
	properties["product"] = "Dead Letter Office"
	properties.SetClientConnectionName(name)
	connection, err := amqp.DialConfig(plainURL(rawURL), amqp.Config{
		Properties: properties,
		Dial: func(network, _ string) (net.Conn, error) {
			socket, err := (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(uri.Host, strconv.Itoa(uri.Port)))
			if err != nil {
				return nil, err
			}
			c.socket = &timedSocket{socket}
			stop = context.AfterFunc(ctx, c.cut)
			secured, err := secure(ctx, c.socket, uri)
			if err != nil {
				return nil, err
			}
			return wrap(c, secured), nil
		},
	})
	stop()
	if err != nil {
		c.cut()
		return nil, fmt.Errorf("rabbit: connect to %s: %w", redacted(rawURL), dialError(err))
	}
	c.Connection = connection
	return c, nil
}

// dialTimeoutOf is how long an attempt to connect may take.
func dialTimeoutOf(uri amqp.URI) time.Duration {
	if uri.ConnectionTimeout > 0 {
		return time.Duration(uri.ConnectionTimeout) * time.Millisecond
	}
	return dialTimeout
}

// headers are the header tables that the filter has put aside, if there is one.
func (c *conn) headers() *headerQueue {
	if c.filter == nil {
		return nil
	}
	return c.filter.headers
}

// explain adds what the filter knows to an error that means poison.
func (c *conn) explain(err error) error {
	if c.filter == nil || !errors.Is(err, ErrPoison) {
		return err
	}
	if size := c.filter.outgrown.Load(); size > 0 {
		return fmt.Errorf("%w: its headers take a frame of %d bytes, and frame_max of this broker is set to %d; raise it above that", ErrPoison, size, c.filter.frameMax)
	}
	return err
}

// cut drops the socket without a word to the broker, which takes back what is
// unacked.
func (c *conn) cut() {
	if c.socket != nil {
		c.socket.Close()
	}
}

// cutAfter cuts the connection unless the returned function is called in time.
func (c *conn) cutAfter(d time.Duration) (stop func() bool) {
	return time.AfterFunc(d, c.cut).Stop
}

// shut says goodbye to the broker, but not for long.
func (c *conn) shut() error {
	defer c.cut()
	defer c.cutAfter(closeTimeout)()
	err := c.Close()
	if errors.Is(err, amqp.ErrClosed) {
		return nil
	}
	return err
}

// timedSocket does not wait forever for a peer that takes nothing: the client
// library holds a lock while it writes, and every channel would wait with it.
type timedSocket struct{ net.Conn }

// Write implements net.Conn.
func (s *timedSocket) Write(b []byte) (int, error) {
	if err := s.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return s.Conn.Write(b)
}

// redacted returns a URL for people: no password and no parameters.
func redacted(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "(invalid URL)"
	}
	u.RawQuery, u.Fragment = "", ""
	return u.Redacted()
}

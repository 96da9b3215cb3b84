package guard

import (
	"context"
	"fmt"
	"net"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// heartbeat is how a dead line is noticed: after two of them without a byte.
const heartbeat = 10 * time.Second

// dial connects to the broker. It also returns the line itself, which can be
// cut when the broker stops reading from it.
func dial(ctx context.Context, url, name string, patience time.Duration) (*amqp.Connection, net.Conn, error) {
	var line net.Conn
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(name)
	conn, err := amqp.DialConfig(url, amqp.Config{
		Heartbeat:  heartbeat,
		Locale:     "en_US",
		Properties: properties,
		Dial: func(network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			var d net.Dialer
			c, err := d.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			line = c
			return c, c.SetDeadline(time.Now().Add(patience)) // of the handshake; the client lifts it
		},
	})
	if err != nil {
		if line != nil {
			_ = line.Close()
		}
		return nil, nil, fmt.Errorf("connect to the broker: %w", err)
	}
	return conn, line, nil
}

package rabbit

import (
	"errors"
	"net"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

func TestEndOfAChannelIsRefusalAndEndOfAConnectionSaysNothing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  *amqp.Error
		want error
	}{
		{"channel error", &amqp.Error{Code: amqp.PreconditionFailed, Server: true, Recover: true}, ErrRefused},
		{"operator closes the connection", &amqp.Error{Code: amqp.ConnectionForced, Server: true}, ErrUnknown},
		{"frame error, whoever's", &amqp.Error{Code: amqp.FrameError, Server: true}, ErrUnknown},
		{"lost socket", &amqp.Error{Code: amqp.FrameError, Reason: "EOF"}, ErrUnknown},
		{"closed by ourselves", nil, ErrUnknown},
	}
	for _, tt := range tests {
		if got := closeError(tt.end); !errors.Is(got, tt.want) {
			t.Errorf("%s: got %v; want %v", tt.name, got, tt.want)
		}
	}
}

func TestErrorWhileSending(t *testing.T) {
	t.Parallel()
	if got := sendError(amqp.ErrClosed); !errors.Is(got, ErrUnavailable) {
		t.Errorf("closed before all was written: got %v; want ErrUnavailable", got)
	}
	if got := sendError(net.ErrClosed); !errors.Is(got, ErrUnknown) {
		t.Errorf("flush did not succeed: got %v; want ErrUnknown", got)
	}
}

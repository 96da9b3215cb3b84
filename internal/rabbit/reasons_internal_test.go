package rabbit

import (
	"errors"
	"io"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// TestReasonsAreTold has RabbitMQ's own words, of 3.10 and 4.0.
func TestReasonsAreTold(t *testing.T) {
	t.Parallel()
	kinds := []error{
		ErrQueueMissing, ErrPoison, ErrUnreachable, ErrAccessRefused, ErrVhostMissing, ErrVhostDown, ErrLimit, ErrLocked, ErrWrongType,
		ErrConsumerTimeout, ErrCancelled,
	}
	tests := []struct {
		name string
		code int
		text string
		want error // nil: no more than ErrUnavailable
	}{
		{"vhost that is down", 541, "INTERNAL_ERROR - access to vhost 'v' refused for user 'u': vhost 'v' is down", ErrVhostDown},
		{"no vhost", 530, "NOT_ALLOWED - vhost v not found", ErrVhostMissing},
		{"no access to the vhost", 530, "NOT_ALLOWED - access to vhost 'v' refused for user 'u'", ErrAccessRefused},
		{"connections of the vhost", 530, "NOT_ALLOWED - access to vhost 'v' refused for user 'u': connection limit (1) is reached", ErrLimit},
		{"connections of the user", 530, "NOT_ALLOWED - connection refused for user 'u': user connection limit (1) is reached", ErrLimit},
		{"connections of the node", 530, "NOT_ALLOWED - connection refused: node connection limit (1) is reached", ErrLimit},
		{"login", 403, "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN.", ErrAccessRefused},
		{"permission", 403, "ACCESS_REFUSED - access to queue 'q' in vhost 'v' refused for user 'u'", ErrAccessRefused},
		{"exclusive consumer", 403, "ACCESS_REFUSED - queue 'q' in vhost 'v' in exclusive use", ErrLocked},
		{"exclusive queue", 405, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q' in vhost 'v'.", ErrLocked},
		{"consumer timeout", 406, "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: 1800000 ms. " +
			"This timeout value can be configured, see consumers doc guide to learn more", ErrConsumerTimeout},
		{"stream without prefetch", 406, "PRECONDITION_FAILED - consumer prefetch count is not set for stream 'q' in vhost 'v'", ErrWrongType},
		{"stream and nack", 540, "NOT_IMPLEMENTED - basic.nack and basic.reject not supported by stream queues queue 'q' in vhost 'v'", ErrWrongType},
		{"unknown tag", 406, "PRECONDITION_FAILED - unknown delivery tag 1", nil},
		{"no queue", 404, "NOT_FOUND - no queue 'q' in vhost 'v'", ErrQueueMissing},
		{"node down", 404, "NOT_FOUND - home node 'n' of durable queue 'q' in vhost 'v' is down or inaccessible", nil},
		{"shutdown", 320, "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := &amqp.Error{Code: tt.code, Reason: tt.text, Server: true}
			for _, got := range []error{callError(err), dialError(err)} {
				for _, kind := range kinds {
					if errors.Is(got, kind) != errors.Is(tt.want, kind) {
						t.Errorf("%v is %v: %v; want %v", got, kind, errors.Is(got, kind), tt.want)
					}
				}
				if errors.Is(got, ErrUnavailable) == errors.Is(got, ErrQueueMissing) {
					t.Errorf("%v is ErrUnavailable: %v", got, errors.Is(got, ErrUnavailable))
				}
			}
		})
	}
	for _, err := range []error{io.EOF, amqp.ErrVhost, &amqp.Error{Code: 501, Reason: "EOF"}, errors.New("dial tcp: no such host")} {
		if got := dialError(err); !errors.Is(got, ErrUnreachable) || !errors.Is(got, ErrUnavailable) {
			t.Errorf("%v became %v; want ErrUnreachable", err, got)
		}
	}
	if got := callError(&amqp.Error{Code: 403, Reason: "not the broker's word"}); errors.Is(got, ErrAccessRefused) {
		t.Errorf("%v; want no reason that the broker did not give", got)
	}
}

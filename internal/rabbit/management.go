package rabbit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	// manageTimeout bounds each request to the management API.
	manageTimeout = 5 * time.Second
	// maxAnswer is the most that is read of an answer.
	maxAnswer = 4 << 20
)

// QueueFacts is what the management API knows of a queue.
type QueueFacts struct {
	Ready, Unacked, Consumers int64
	Type                      string // classic, quorum or stream
	// DeadLetterExchange and DeadLetterRoutingKey are the effective ones: the
	// queue's arguments, else its policy. nil: none.
	DeadLetterExchange, DeadLetterRoutingKey *string
	DeadLetterExchangeType                   string // "": not known, or there is none
	// MessageTTL is in milliseconds; nil: none.
	MessageTTL *int64
	// DeliveryLimit is nil where there is none, or where one that the broker has
	// by itself is not told; less than 0 means no limit.
	DeliveryLimit *int64
	// OtherConsumers are those that are not of this product, this console or
	// another; nil: not known.
	OtherConsumers *int64
	// StateKnown is false where the broker gives no counts, as just after a
	// queue was declared or where statistics are switched off.
	StateKnown bool
}

// Management reads from the HTTP management API. It changes nothing.
type Management struct {
	base, user, password, vhost string
	client                      *http.Client
}

// NewManagement returns a client for the API at baseURL, with the user and
// password in it, and for the virtual host of amqpURL. Where baseURL names no
// user, that of amqpURL is taken.
func NewManagement(baseURL, amqpURL string) *Management {
	m := &Management{vhost: "/", client: &http.Client{
		Timeout: manageTimeout,
		// Questions are rare; a kept connection would only be found dead.
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		// The password must not follow to another place.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if broker, err := amqp.ParseURI(amqpURL); err == nil {
		m.vhost, m.user, m.password = broker.Vhost, broker.Username, broker.Password
	}
	u, err := url.Parse(baseURL)
	if err != nil {
		return m // each request then says that the URL is not valid
	}
	if u.User != nil {
		m.user = u.User.Username()
		m.password, _ = u.User.Password()
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	m.base = strings.TrimSuffix(u.String(), "/")
	return m
}

// Queue returns what the broker knows of a queue of the virtual host. It
// returns ErrQueueMissing or ErrUnavailable.
func (m *Management) Queue(ctx context.Context, name string) (QueueFacts, error) {
	var answer queueAnswer
	if err := m.read(ctx, &answer, "queues", m.vhost, name); err != nil {
		if errors.Is(err, errNotFound) {
			err = ErrQueueMissing
		}
		return QueueFacts{}, fmt.Errorf("rabbit: read facts of queue %s: %w", name, err)
	}
	facts := answer.facts()
	if facts.DeadLetterExchange == nil {
		return facts, nil
	}
	kind, err := m.ExchangeType(ctx, *facts.DeadLetterExchange)
	if err != nil {
		return QueueFacts{}, err
	}
	facts.DeadLetterExchangeType = kind
	return facts, nil
}

// ExchangeType returns the type of an exchange, such as direct or
// x-delayed-message, or "" if there is no such exchange.
func (m *Management) ExchangeType(ctx context.Context, name string) (string, error) {
	if name == "" {
		return amqp.ExchangeDirect, nil
	}
	var answer struct {
		Type string `json:"type"`
	}
	err := m.read(ctx, &answer, "exchanges", m.vhost, name)
	if err != nil && !errors.Is(err, errNotFound) {
		return "", fmt.Errorf("rabbit: read type of exchange %s: %w", name, err)
	}
	return answer.Type, nil
}

var errNotFound = errors.New("not found")

// read gets /api/<parts> into answer. Its errors hold no URL: that may carry a
// password.
func (m *Management) read(ctx context.Context, answer any, parts ...string) error {
	var path strings.Builder
	path.WriteString(m.base + "/api")
	for _, part := range parts {
		path.WriteString("/" + url.PathEscape(part))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, path.String(), nil)
	if err != nil || m.base == "" {
		return fmt.Errorf("%w: the management URL is not valid", ErrUnavailable)
	}
	req.SetBasicAuth(m.user, m.password)
	resp, err := m.client.Do(req)
	if err != nil {
		if at, ok := errors.AsType[*url.Error](err); ok {
			err = at.Err
		}
		return fmt.Errorf("%w: management API: %w", ErrUnavailable, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return errNotFound
	default:
		return fmt.Errorf("%w: management API answers %s", ErrUnavailable, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(answer); err != nil {
		return fmt.Errorf("%w: management API: answer is not as expected: %w", ErrUnavailable, err)
	}
	return nil
}

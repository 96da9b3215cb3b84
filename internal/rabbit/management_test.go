package rabbit_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/poll"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

func TestQueueFactsOfARealBroker(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	const name = "dead letters/ü %2F?#"
	v.Exchange(t, "dlx", amqp.ExchangeFanout, nil)
	v.Queue(t, name, amqp.Table{
		"x-queue-type": "quorum", "x-dead-letter-exchange": "dlx", "x-dead-letter-routing-key": "k", "x-delivery-limit": int32(7),
	})
	v.Publish(t, "", name, amqp.Publishing{})
	m := rabbit.NewManagement(v.ManagementURL, v.URL)
	var got rabbit.QueueFacts
	poll.True(t, patience, "counts are there", func() bool {
		var err error
		if got, err = m.Queue(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		return got.StateKnown && got.Ready == 1
	})
	want := rabbit.QueueFacts{
		Ready: 1, Type: "quorum", DeadLetterExchange: new("dlx"), DeadLetterRoutingKey: new("k"),
		DeadLetterExchangeType: "fanout", DeliveryLimit: new(int64(7)), OtherConsumers: new(int64(0)), StateKnown: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

func TestQueueFactsOutOfAPolicy(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	v.Manage(t, http.MethodPut, "/api/policies/"+v.Name+"/dlx",
		`{"pattern":".*","definition":{"dead-letter-exchange":"","dead-letter-routing-key":"dead","message-ttl":5000},"apply-to":"queues"}`)
	m := rabbit.NewManagement(v.ManagementURL, v.URL)
	poll.True(t, patience, "the policy is in force", func() bool {
		f, err := m.Queue(t.Context(), "q")
		if err != nil {
			t.Fatal(err)
		}
		return f.Type == "classic" && f.DeadLetterExchange != nil && *f.DeadLetterExchange == "" &&
			f.DeadLetterExchangeType == "direct" && *f.DeadLetterRoutingKey == "dead" && *f.MessageTTL == 5000
	})
}

func TestMissingQueueAndExchange(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	m := rabbit.NewManagement(v.ManagementURL, v.URL)
	if _, err := m.Queue(t.Context(), "gone"); !errors.Is(err, rabbit.ErrQueueMissing) {
		t.Errorf("queue: got %v; want ErrQueueMissing", err)
	}
	if kind, err := m.ExchangeType(t.Context(), "gone"); kind != "" || err != nil {
		t.Errorf("exchange: got %q, %v; want none", kind, err)
	}
	if kind, err := m.ExchangeType(t.Context(), "amq.topic"); kind != "topic" || err != nil {
		t.Errorf("exchange: got %q, %v; want topic", kind, err)
	}
	v.Queue(t, "q", amqp.Table{"x-dead-letter-exchange": "gone"})
	if f, err := m.Queue(t.Context(), "q"); err != nil || f.DeadLetterExchangeType != "" {
		t.Errorf("queue with a missing exchange: got %+v, %v", f, err)
	}
}

func TestAnswersOfTheManagementAPI(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		answer string
		want   rabbit.QueueFacts
		err    error
	}{
		{
			"argument wins over policy for names", 200,
			`{"type":"classic","arguments":{"x-dead-letter-exchange":"","x-dead-letter-routing-key":"a"},` +
				`"effective_policy_definition":{"dead-letter-exchange":"p","dead-letter-routing-key":"p"}}`,
			rabbit.QueueFacts{Type: "classic", DeadLetterExchange: new(""), DeadLetterRoutingKey: new("a"), DeadLetterExchangeType: "direct"},
			nil,
		},
		{
			"the shorter TTL wins", 200, `{"type":"classic","arguments":{"x-message-ttl":10},"effective_policy_definition":{"message-ttl":5}}`,
			rabbit.QueueFacts{Type: "classic", MessageTTL: new(int64(5))},
			nil,
		},
		{
			"the lower delivery limit wins", 200, `{"type":"quorum","arguments":{"x-delivery-limit":10},"effective_policy_definition":{"delivery-limit":5}}`,
			rabbit.QueueFacts{Type: "quorum", DeliveryLimit: new(int64(5))},
			nil,
		},
		{
			"no delivery limit gives way to one", 200, `{"type":"quorum","arguments":{"x-delivery-limit":-1},"effective_policy_definition":{"delivery-limit":5}}`,
			rabbit.QueueFacts{Type: "quorum", DeliveryLimit: new(int64(5))},
			nil,
		},
		{
			"no delivery limit alone", 200, `{"type":"quorum","arguments":{"x-delivery-limit":-1}}`,
			rabbit.QueueFacts{Type: "quorum", DeliveryLimit: new(int64(-1))},
			nil,
		},
		{
			"empty objects are written as lists", 200, `{"type":"stream","arguments":[],"effective_policy_definition":[]}`,
			rabbit.QueueFacts{Type: "stream"},
			nil,
		},
		{
			"arguments of odd types", 200, `{"arguments":{"x-dead-letter-exchange":5,"x-message-ttl":"soon","x-delivery-limit":1.5}}`,
			rabbit.QueueFacts{Type: "classic"},
			nil,
		},
		{
			"counts", 200, `{"type":"classic","messages_ready":3,"messages_unacknowledged":2,"consumers":1}`,
			rabbit.QueueFacts{Type: "classic", Ready: 3, Unacked: 2, Consumers: 1, StateKnown: true},
			nil,
		},
		{"no permission", 401, `{}`, rabbit.QueueFacts{}, rabbit.ErrUnavailable},
		{"broken", 500, `{}`, rabbit.QueueFacts{}, rabbit.ErrUnavailable},
		{"elsewhere", 302, ``, rabbit.QueueFacts{}, rabbit.ErrUnavailable},
		{"no JSON", 200, `<html>`, rabbit.QueueFacts{}, rabbit.ErrUnavailable},
		{"endless", 200, `{"type":"` + strings.Repeat("x", 5<<20), rabbit.QueueFacts{}, rabbit.ErrUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				user, password, _ := r.BasicAuth()
				asked = user + ":" + password + " " + r.URL.EscapedPath()
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.answer))
			}))
			defer server.Close()
			at := strings.Replace(server.URL, "http://", "http://ops:hunter2@", 1) + "/prefix/"
			got, err := rabbit.NewManagement(at, "amqp://u:p@localhost/a%2Fb").Queue(t.Context(), "q q")
			if !errors.Is(err, tt.err) || (err != nil && tt.err == nil) {
				t.Fatalf("got %v; want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
			if want := "ops:hunter2 /prefix/api/queues/a%2Fb/q%20q"; asked != want {
				t.Errorf("asked %q; want %q", asked, want)
			}
		})
	}
}

func TestManagementErrorsKeepThePasswordToThemselves(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"http://ops:hunter2@127.0.0.1:1", "http://ops:hunter2%@host", "://hunter2", ""} {
		_, err := rabbit.NewManagement(at, "amqp://u:hunter2@localhost/").Queue(t.Context(), "q")
		if !errors.Is(err, rabbit.ErrUnavailable) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v; want ErrUnavailable without the password", at, err)
		}
	}
}

func TestManagementTakesTheBrokersUserWhereItHasNone(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	u, err := url.Parse(v.ManagementURL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = nil
	if _, err := rabbit.NewManagement(u.String(), v.URL).Queue(t.Context(), "q"); err != nil {
		t.Errorf("without a user in the URL: %v", err)
	}
}

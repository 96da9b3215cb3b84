package rabbit

import "encoding/json"

// queueAnswer is the part of GET /api/queues/<vhost>/<name> that is used.
type queueAnswer struct {
	Type      string `json:"type"`
	Ready     *int64 `json:"messages_ready"`
	Unacked   *int64 `json:"messages_unacknowledged"`
	Consumers *int64 `json:"consumers"`
	Arguments object `json:"arguments"`
	Policy    object `json:"effective_policy_definition"`
	// Limit is the delivery limit in force, as RabbitMQ 4 tells it; it may be a
	// word there.
	Limit   json.RawMessage `json:"delivery_limit"`
	Members *[]struct {
		Tag string `json:"consumer_tag"`
	} `json:"consumer_details"`
}

// object is a JSON object; the API writes an empty one as [] at times.
type object map[string]json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (o *object) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	return json.Unmarshal(data, (*map[string]json.RawMessage)(o))
}

// text returns the string called name, or nil.
func (o object) text(name string) *string {
	var s *string
	if json.Unmarshal(o[name], &s) != nil {
		return nil
	}
	return s
}

// number returns the whole number called name, or nil.
func (o object) number(name string) *int64 {
	var n *int64
	if json.Unmarshal(o[name], &n) != nil {
		return nil
	}
	return n
}

func (a queueAnswer) facts() QueueFacts {
	f := QueueFacts{
		Ready: orZero(a.Ready), Unacked: orZero(a.Unacked), Consumers: orZero(a.Consumers),
		Type:                 a.Type,
		DeadLetterExchange:   first(a.Arguments.text("x-dead-letter-exchange"), a.Policy.text("dead-letter-exchange")),
		DeadLetterRoutingKey: first(a.Arguments.text("x-dead-letter-routing-key"), a.Policy.text("dead-letter-routing-key")),
		MessageTTL:           lower(a.Arguments.number("x-message-ttl"), a.Policy.number("message-ttl")),
		DeliveryLimit:        limit(a.Arguments.number("x-delivery-limit"), a.Policy.number("delivery-limit")),
		StateKnown:           a.Ready != nil && a.Unacked != nil,
	}
	if f.Type == "" {
		f.Type = "classic" // before 3.8 there was no other
	}
	if f.Type == "quorum" && f.DeliveryLimit == nil {
		_ = json.Unmarshal(a.Limit, &f.DeliveryLimit) // a word there means that there is none
	}
	f.OtherConsumers = a.others()
	return f
}

// others counts the consumers that are not this product's; nil: not known.
func (a queueAnswer) others() *int64 {
	if a.Members == nil {
		return nil
	}
	var n int64
	for _, c := range *a.Members {
		if !ourTag(c.Tag) {
			n++
		}
	}
	return &n
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// first is how the broker joins an argument and a policy for names.
func first(argument, policy *string) *string {
	if argument != nil {
		return argument
	}
	return policy
}

// lower is how the broker joins an argument and a policy for times.
func lower(argument, policy *int64) *int64 {
	if argument == nil || (policy != nil && *policy < *argument) {
		return policy
	}
	return argument
}

// limit is how the broker joins an argument and a policy for delivery limits:
// the lower one, but one below zero, which means no limit, gives way.
func limit(argument, policy *int64) *int64 {
	if argument == nil || policy == nil || (*argument >= 0 && *policy >= 0) {
		return lower(argument, policy)
	}
	if *argument < *policy {
		return policy
	}
	return argument
}

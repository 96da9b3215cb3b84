package web

import (
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// messageJSON is a message in a list.
type messageJSON struct {
	ID               string       `json:"id"`
	Source           string       `json:"source"`
	State            dlq.State    `json:"state"`
	StateSince       *time.Time   `json:"state_since"`
	Round            int          `json:"round"`
	BusinessKey      *string      `json:"business_key"`
	Reason           dlq.Reason   `json:"reason"`
	Failure          *failureJSON `json:"failure"`
	RetryCount       *int64       `json:"retry_count"`
	RetryCountSource *string      `json:"retry_count_source"`
	Original         originJSON   `json:"original"`
	FirstDiedAt      *time.Time   `json:"first_died_at"`
	DiedAt           *time.Time   `json:"died_at"`
	DrainedAt        *time.Time   `json:"drained_at"`
	ContentType      *string      `json:"content_type"`
	ContentEncoding  *string      `json:"content_encoding"`
	BodySize         int64        `json:"body_size"`
	BodySHA256       string       `json:"body_sha256"`
	BodyPreview      *string      `json:"body_preview"`
	Group            *string      `json:"group"`
	PossibleCopy     bool         `json:"possible_copy"`
}

// failureJSON is null in a message of which no framework recorded anything.
type failureJSON struct {
	Type      *string `json:"type"`
	Message   *string `json:"message"`
	Stack     *string `json:"stack"`
	Extractor *string `json:"extractor"`
}

type originJSON struct {
	Queue      *string `json:"queue"`
	Exchange   *string `json:"exchange"`
	RoutingKey *string `json:"routing_key"`
	Evidence   *string `json:"evidence"`
}

// wholeMessageJSON is a message read alone.
type wholeMessageJSON struct {
	messageJSON
	Quarantine *string           `json:"quarantine,omitempty"`
	RawHeaders []byte            `json:"raw_headers,omitempty"` // in base64, of what is in quarantine
	Properties map[string]string `json:"properties"`
	Headers    json.RawMessage   `json:"headers"`
	Unit       *unitJSON         `json:"unit"`
}

func newMessageJSON(m dlq.Message) messageJSON {
	shape := messageJSON{
		ID: m.ID, Source: m.Source, State: m.State, StateSince: timeOrNull(m.StateSince), Round: m.Round,
		BusinessKey: orNull(m.BusinessKey), Reason: m.Reason, Failure: newFailureJSON(m.Failure),
		RetryCount: m.RetryCount, RetryCountSource: orNull(m.RetryCountSource),
		Original:    newOriginJSON(m.Original),
		FirstDiedAt: timeOrNull(m.FirstDiedAt), DiedAt: timeOrNull(m.DiedAt), DrainedAt: timeOrNull(m.DrainedAt),
		ContentType: orNull(m.ContentType), ContentEncoding: orNull(m.ContentEncoding),
		BodySize: m.BodySize, BodySHA256: hex.EncodeToString(m.BodySHA256), PossibleCopy: m.PossibleCopy,
	}
	if m.BodyIsText {
		shape.BodyPreview = &m.BodyPreview
	}
	return shape
}

func newOriginJSON(o dlq.Origin) originJSON {
	return originJSON{orNull(o.Queue), o.Exchange, o.RoutingKey, orNull(o.Evidence)}
}

func newFailureJSON(f dlq.Failure) *failureJSON {
	if f == (dlq.Failure{}) {
		return nil
	}
	return &failureJSON{orNull(f.Type), orNull(f.Message), orNull(f.Stack), orNull(f.Extractor)}
}

// newWholeMessageJSON joins m with its current life, which has the stack.
func newWholeMessageJSON(m dlq.Message, l dlq.Life, u dlq.Unit) (wholeMessageJSON, error) {
	headers, err := rabbit.EncodeTable(l.Headers)
	if err != nil {
		return wholeMessageJSON{}, err
	}
	m.Failure.Stack = l.Failure.Stack
	shape := wholeMessageJSON{
		messageJSON: newMessageJSON(m), Quarantine: orNull(m.Quarantine), Properties: map[string]string{}, Headers: headers,
		Unit: newUnitJSON(u),
	}
	if m.Quarantine != "" {
		shape.RawHeaders = l.RawHeaders
	}
	for _, p := range l.Properties.Pairs() {
		shape.Properties[p.Name] = p.Value
	}
	return shape, nil
}

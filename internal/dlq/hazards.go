package dlq

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// Kinds of hazard. Each says that a queue may not be terminal, so that draining
// it could take messages out of a retry loop or share them with others.
const (
	WarnDeadLetters    = "dead_letter_exchange" // its messages leave it by themselves
	WarnTTL            = "message_ttl"          // its messages expire
	WarnDeliveryLimit  = "delivery_limit"       // it drops messages that are given back too often
	WarnOtherConsumers = "other_consumers"      // somebody else consumes it too
	// WarnNotChecked says that none of this could be looked at: there is no
	// management URL, or nothing answers there.
	WarnNotChecked = "not_checked"
)

// Warnings is the closed list of warnings.
var Warnings = []string{WarnDeadLetters, WarnTTL, WarnDeliveryLimit, WarnOtherConsumers, WarnNotChecked}

// Hazard is something about a queue for which it is not drained until an
// operator has confirmed it.
type Hazard struct {
	Kind string // of Warnings
	// Detail is the exchange, the milliseconds or the limit; "" where there is
	// nothing to add.
	Detail    string
	Confirmed bool
}

// ID is what a confirmation names. It holds the detail: a TTL of a week that
// becomes one of a second is a new hazard.
func (h Hazard) ID() string {
	if h.Detail == "" && h.Kind != WarnDeadLetters {
		return h.Kind
	}
	return h.Kind + "=" + h.Detail
}

// String says what the hazard is, of a queue named before.
func (h Hazard) String() string {
	switch h.Kind {
	case WarnDeadLetters:
		return fmt.Sprintf("it has a dead-letter exchange of its own (%s)", strconv.Quote(h.Detail))
	case WarnTTL:
		return fmt.Sprintf("its messages expire after %s ms", h.Detail)
	case WarnDeliveryLimit:
		return fmt.Sprintf("it drops a message that was given back more than %s times", h.Detail)
	case WarnOtherConsumers:
		return "another consumer takes messages from it"
	}
	return "the management API does not answer, so that it is not known whether the queue is terminal"
}

// HazardsOf returns what the management API's facts say against draining a
// queue. Other consumers are not known where the API does not list them.
func HazardsOf(q rabbit.QueueFacts) []Hazard {
	var all []Hazard
	if q.DeadLetterExchange != nil {
		all = append(all, Hazard{Kind: WarnDeadLetters, Detail: *q.DeadLetterExchange})
	}
	if q.MessageTTL != nil {
		all = append(all, Hazard{Kind: WarnTTL, Detail: strconv.FormatInt(*q.MessageTTL, 10)})
	}
	if q.DeliveryLimit != nil && *q.DeliveryLimit >= 0 {
		all = append(all, Hazard{Kind: WarnDeliveryLimit, Detail: strconv.FormatInt(*q.DeliveryLimit, 10)})
	}
	if q.OtherConsumers != nil && *q.OtherConsumers > 0 {
		all = append(all, Hazard{Kind: WarnOtherConsumers})
	}
	return all
}

// confirm marks those hazards that are among the confirmed ones.
func confirm(hazards []Hazard, confirmed []string, all bool) []Hazard {
	marked := slices.Clone(hazards)
	for i, h := range marked {
		marked[i].Confirmed = all || slices.Contains(confirmed, h.ID())
	}
	return marked
}

// unconfirmed returns the hazards that nobody has confirmed.
func unconfirmed(hazards []Hazard) []Hazard {
	var open []Hazard
	for _, h := range hazards {
		if !h.Confirmed {
			open = append(open, h)
		}
	}
	return open
}

// hazardError says that a queue is not drained for what was found out about it.
type hazardError struct{ hazards []Hazard }

// Error implements error.
func (e hazardError) Error() string {
	said := make([]string, len(e.hazards))
	for i, h := range e.hazards {
		said[i] = h.String()
	}
	return strings.Join(said, "; ")
}

// idsOf are the hazards' names in a confirmation.
func idsOf(hazards []Hazard) []string {
	named := make([]string, len(hazards))
	for i, h := range hazards {
		named[i] = h.ID()
	}
	return named
}

package dlq

import (
	"strings"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// removed are the headers that a replay must not carry, by exact name: what
// the broker would take for its own state (rabbitmq.md's cycle rule drops a
// message by it), what would copy the message to other queues or delay it, and
// the counters by which a consumer would call it exhausted at once.
var removed = map[string]bool{
	"x-death": true, "x-delivery-count": true, "x-acquired-count": true,
	"CC": true, "BCC": true, "x-delay": true,
	"x-retry-count": true, "retry-count": true, "x-retries": true, "x-retry": true, "attempts": true,
	"MT-Redelivery-Count": true, "MT-Fault-RetryCount": true, "MT-Fault-RedeliveryCount": true,
	"HandledCount": true, "enqueue.redelivery_count": true, "rbs2-delivery-count": true,
}

// removedPrefixes are the same by how a name begins. Symfony's two stamps are
// among them because its second failure would be lost where they stay.
var removedPrefixes = []string{
	"x-first-death-", "x-last-death-", "NServiceBus.Retries", "NServiceBus.FLRetries",
	`X-Message-Stamp-Symfony\Component\Messenger\Stamp\RedeliveryStamp`,
	`X-Message-Stamp-Symfony\Component\Messenger\Stamp\SentToFailureTransportStamp`,
}

// HeadersToRemove returns the names of those headers in h that a replay takes
// off, in alphabetical order. Headers that say why a message failed stay: a
// consumer writes them anew when it fails again.
func HeadersToRemove(h rabbit.Table) []string {
	var names []string
	for _, name := range sortedNames(h) {
		if removed[name] || hasAnyPrefix(name, removedPrefixes) {
			names = append(names, name)
		}
	}
	return names
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

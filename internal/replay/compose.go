package replay

import (
	"maps"
	"strconv"
	"strings"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// directReplyTo is how addresses of RPC replies begin that die with their
// sender's channel: the broker refuses a message that carries one.
const directReplyTo = "amq.rabbitmq.reply-to"

// compose returns what is published for one unit: its bytes, its properties and
// its headers with their types as they came, except what would make the broker
// refuse it or lose it.
func compose(u dlq.Unit, round int, d Destination, messageID string, replayID int64) rabbit.Message {
	p := u.Properties
	p.UserID = ""     // must be the publisher's own
	p.Expiration = "" // it would mostly expire again at once
	if strings.HasPrefix(p.ReplyTo, directReplyTo) {
		p.ReplyTo = ""
	}
	h := maps.Clone(u.Headers)
	if h == nil {
		h = rabbit.Table{}
	}
	h[HeaderMessageID] = messageID
	h[HeaderReplayID] = strconv.FormatInt(replayID, 10)
	h[HeaderRound] = strconv.Itoa(round)
	return rabbit.Message{Exchange: d.Exchange, RoutingKey: d.RoutingKey, Properties: p, Headers: h, Body: u.Body}
}

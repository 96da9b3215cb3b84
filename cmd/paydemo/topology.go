package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/guard"
)

// Names of the articles' topology.
const (
	exchangePay   = "ex.pay"
	exchangeDLX   = "ex.pay.dlx"
	exchangeRetry = "ex.pay.retry"
	queuePay      = "q.pay.success"
	queueTerminal = "q.pay.dlx.terminal"
	keyPay        = "pay.success"
	keyBack       = "back"
	keyTerminal   = "terminal"
)

// tier is one wait queue of the ladder. Its name stays when its time is
// shortened.
type tier struct {
	queue, key string
	ttl        time.Duration
}

func articleTiers() []tier {
	return []tier{
		{"q.pay.dlx.wait.30s", "wait30s", 30 * time.Second},
		{"q.pay.dlx.wait.1m", "wait1m", time.Minute},
		{"q.pay.dlx.wait.5m", "wait5m", 5 * time.Minute},
	}
}

// parseTiers reads the times of the wait queues, as in "30s,1m,5m".
func parseTiers(s string) ([]tier, error) {
	tiers := articleTiers()
	parts := strings.Split(s, ",")
	if len(parts) != len(tiers) {
		return nil, fmt.Errorf("three times are needed, as in 30s,1m,5m")
	}
	for i, part := range parts {
		ttl, err := time.ParseDuration(part)
		if err != nil || ttl < time.Millisecond {
			return nil, fmt.Errorf("%q is no time to wait", part)
		}
		tiers[i].ttl = ttl
	}
	return tiers, nil
}

// ladder is the topology as the guard package sees it.
func ladder(tiers []tier, maxRuns int) guard.Ladder {
	l := guard.Ladder{Terminal: guard.Address{Exchange: exchangeDLX, RoutingKey: keyTerminal}, Max: maxRuns}
	for _, t := range tiers {
		l.Tiers = append(l.Tiers, guard.Address{Exchange: exchangeDLX, RoutingKey: t.key})
	}
	return l
}

// declareTopology declares all exchanges, queues and bindings. It changes
// nothing that is there already, and fails where that has other settings.
func declareTopology(url string, tiers []tier) error {
	conn, err := amqp.Dial(url)
	if err != nil {
		return fmt.Errorf("paydemo: connect to the broker: %w", err)
	}
	defer func() { _ = conn.Close() }()
	ch, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("paydemo: open a channel: %w", err)
	}
	if err := declareAll(ch, tiers); err != nil {
		return fmt.Errorf("paydemo: declare the topology (if a queue has other times, delete it first): %w", err)
	}
	return nil
}

func declareAll(ch *amqp.Channel, tiers []tier) error {
	for _, exchange := range []string{exchangePay, exchangeDLX, exchangeRetry} {
		if err := ch.ExchangeDeclare(exchange, amqp.ExchangeDirect, true, false, false, false, nil); err != nil {
			return err
		}
	}
	queues := []struct {
		name           string
		args           amqp.Table
		exchange, bind string
	}{
		{queuePay, deadLetterTo(exchangeDLX, tiers[0].key), exchangePay, keyPay},
		{queueTerminal, nil, exchangeDLX, keyTerminal},
	}
	for _, t := range tiers {
		args := deadLetterTo(exchangeRetry, keyBack)
		args["x-message-ttl"] = t.ttl.Milliseconds()
		queues = append(queues, struct {
			name           string
			args           amqp.Table
			exchange, bind string
		}{t.queue, args, exchangeDLX, t.key})
	}
	for _, q := range queues {
		_, err := ch.QueueDeclare(q.name, true, false, false, false, q.args)
		if err == nil {
			err = ch.QueueBind(q.name, q.bind, q.exchange, false, nil)
		}
		if err != nil {
			return err
		}
	}
	return ch.QueueBind(queuePay, keyBack, exchangeRetry, false, nil)
}

func deadLetterTo(exchange, key string) amqp.Table {
	return amqp.Table{"x-dead-letter-exchange": exchange, "x-dead-letter-routing-key": key}
}

var errNoTopology = errors.New("the message was not routed: run paydemo topology first")

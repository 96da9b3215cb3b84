package guard

import (
	"context"
	"log/slog"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
)

// Headers of a message that the console replayed, and what is kept of it in
// Redis.
const (
	HeaderMessageID = "dlo-message-id"
	HeaderReplayID  = "dlo-replay-id"

	checksPrefix  = "dlo:checks:"
	checksKept    = 2 * time.Hour
	outcomeStream = "dlo:outcomes"
	outcomesKept  = 100_000
)

// Outcomes that are reported.
const (
	outcomeProcessed = "processed"
	outcomeDuplicate = "duplicate"
	outcomeRefused   = "guard_refused"
	outcomeFailed    = "failed"
)

// replay names the replay that a delivery belongs to.
type replay struct {
	messageID, replayID string
}

// replayOf returns the replay of d; false where it was not replayed.
func replayOf(d amqp.Delivery) (replay, bool) {
	messageID, _ := d.Headers[HeaderMessageID].(string)
	replayID, _ := d.Headers[HeaderReplayID].(string)
	return replay{messageID, replayID}, messageID != "" && replayID != ""
}

func isReplay(d amqp.Delivery) bool { return d.Headers[HeaderReplayID] != nil }

// countCheck counts what the key said in this minute, so that the console can
// tell the share of duplicates. Replays are left out: they are the operator's
// doing. An unfinished run is neither first nor duplicate.
func (c *Consumer) countCheck(ctx context.Context, d amqp.Delivery, answer Answer) {
	field, counted := map[Answer]string{First: "first", Done: "duplicate"}[answer]
	if c.o.Redis == nil || !counted || isReplay(d) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Patience)
	defer cancel()
	key := checksPrefix + c.o.Name + ":" + c.o.Now().UTC().Format("200601021504")
	_, err := c.o.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.HIncrBy(ctx, key, field, 1)
		p.Expire(ctx, key, checksKept)
		return nil
	})
	if err != nil {
		c.o.Log.LogAttrs(ctx, slog.LevelWarn, "a check was not counted",
			c.about(EventDegraded, slog.Any("err", err))...)
	}
}

// report tells the console what became of a replayed delivery. That it cannot
// be told harms nothing: the console then finds out by other means, or says
// that it does not know.
func (c *Consumer) report(ctx context.Context, d amqp.Delivery, outcome, detail string) {
	r, replayed := replayOf(d)
	if c.o.Redis == nil || !replayed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Patience)
	defer cancel()
	err := c.o.Redis.XAdd(ctx, &redis.XAddArgs{
		Stream: outcomeStream, MaxLen: outcomesKept, Approx: true,
		Values: []string{
			"message_id", r.messageID, "replay_id", r.replayID, "outcome", outcome,
			"detail", bounded(detail, maxMessage), "at", c.o.Now().UTC().Format(time.RFC3339Nano),
		},
	}).Err()
	if err != nil {
		c.o.Log.LogAttrs(ctx, slog.LevelWarn, "an outcome was not reported",
			c.about(EventDegraded, slog.String("outcome", outcome), slog.Any("err", err))...)
	}
}

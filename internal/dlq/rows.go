package dlq

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

var deadLetterColumns = []string{
	"id", "source", "state_changed_at", "round", "first_drained_at", "possible_copy", "quarantine",
	"business_key", "reason", "failure_type", "failure_message", "extractor",
	"retry_count", "retry_count_source",
	"original_queue", "original_exchange", "original_routing_key", "original_evidence",
	"first_died_at", "died_at", "drained_at", "content_type", "content_encoding",
	"body_size", "body_sha256", "body_preview",
}

func (l *letter) deadLetter(source string) []any {
	f, d := l.facts, l.delivery
	return []any{
		plain(l.id), source, l.arrived, l.round, l.arrived, l.possibleCopy, orNull(l.quarantine),
		orNull(f.BusinessKey), string(f.Reason), orNull(f.Failure.Type), orNull(f.Failure.Message), orNull(f.Failure.Extractor),
		f.RetryCount, orNull(f.RetryCountSource),
		orNull(f.Original.Queue), f.Original.Exchange, f.Original.RoutingKey, orNull(f.Original.Evidence),
		timeOrNull(f.FirstDiedAt), l.diedAt(), l.arrived,
		orNull(displayable(d.Properties.ContentType)), orNull(displayable(d.Properties.ContentEncoding)),
		int64(len(d.Body)), l.sha[:], l.bodyPreview,
	}
}

var lifeColumns = []string{
	"message_id", "round", "drained_at", "died_at", "died_at_known", "first_died_at",
	"exchange", "routing_key", "redelivered", "properties", "headers",
	"body", "body_is_text", "body_size", "body_sha256", "reason",
	"failure_type", "failure_message", "failure_stack", "extractor",
	"retry_count", "retry_count_source", "original_queue", "replay_id",
}

func (l *letter) life() []any {
	f, d := l.facts, l.delivery
	body := orEmpty(d.Body)
	return []any{
		plain(l.id), l.round, l.arrived, l.diedAt(), !f.DiedAt.IsZero(), timeOrNull(f.FirstDiedAt),
		displayable(d.Exchange), displayable(d.RoutingKey), d.Redelivered,
		orEmpty(l.properties), orEmpty(l.headers),
		body, l.bodyIsText, int64(len(body)), l.sha[:], string(f.Reason),
		orNull(f.Failure.Type), orNull(f.Failure.Message), orNull(f.Failure.Stack), orNull(f.Failure.Extractor),
		f.RetryCount, orNull(f.RetryCountSource), orNull(f.Original.Queue), numberOrNull(l.replay),
	}
}

// copyRows streams one row for each letter into a table.
func copyRows(ctx context.Context, tx pgx.Tx, table string, columns []string, letters []*letter, row func(*letter) []any) error {
	if len(letters) == 0 {
		return nil
	}
	source := pgx.CopyFromSlice(len(letters), func(i int) ([]any, error) { return row(letters[i]), nil })
	_, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns, source)
	return err
}

// reopenSQL gives a message its next life: dead again, it is open whatever its
// state was, and nobody's claim.
const reopenSQL = `
	UPDATE dead_letters SET
		state = 'open', state_changed_at = @at, round = @round, claimed_by = NULL, claimed_until = NULL,
		business_key = @business_key, reason = @reason,
		failure_type = @failure_type, failure_message = @failure_message, extractor = @extractor,
		retry_count = @retry_count, retry_count_source = @retry_count_source,
		(original_queue, original_exchange, original_routing_key, original_evidence) = (
			SELECT original_queue, original_exchange, original_routing_key, original_evidence
			WHERE original_evidence = 'operator' -- until an operator says otherwise
			UNION ALL SELECT @original_queue, @original_exchange, @original_routing_key, @original_evidence
			LIMIT 1),
		first_died_at = @first_died_at, died_at = @died_at, drained_at = @at,
		content_type = @content_type, content_encoding = @content_encoding,
		body_size = @body_size, body_sha256 = @body_sha256, body_preview = @body_preview
	WHERE id = @id`

func (l *letter) reopening() pgx.NamedArgs {
	f, d := l.facts, l.delivery
	return pgx.NamedArgs{
		"id": l.id, "at": l.arrived, "round": l.round,
		"business_key": orNull(f.BusinessKey), "reason": string(f.Reason),
		"failure_type": orNull(f.Failure.Type), "failure_message": orNull(f.Failure.Message),
		"extractor":   orNull(f.Failure.Extractor),
		"retry_count": f.RetryCount, "retry_count_source": orNull(f.RetryCountSource),
		"original_queue": orNull(f.Original.Queue), "original_exchange": f.Original.Exchange,
		"original_routing_key": f.Original.RoutingKey, "original_evidence": orNull(f.Original.Evidence),
		"first_died_at": timeOrNull(f.FirstDiedAt), "died_at": l.diedAt(),
		"content_type":     orNull(displayable(d.Properties.ContentType)),
		"content_encoding": orNull(displayable(d.Properties.ContentEncoding)),
		"body_size":        int64(len(d.Body)), "body_sha256": l.sha[:],
		"body_preview": l.bodyPreview,
	}
}

// orEmpty returns b, never nil: NULL is not the empty value.
func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// plain is the form of an id that the client library encodes fastest.
func plain(id uuid.UUID) [16]byte { return id }

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func numberOrNull(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

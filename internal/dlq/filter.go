package dlq

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	// maxExact is how far matches are counted.
	maxExact = 10_000
	// indexedText is the shortest text that the trigram index can find.
	indexedText = 3
	// maxPage bounds a page, whatever a caller asks for.
	maxPage     = 500
	defaultPage = 50
)

// Mark is what may be said about a message beside its state.
type Mark string

// Marks of a message.
const (
	MarkQuarantine   Mark = "quarantine"
	MarkPossibleCopy Mark = "possible_copy"
)

// Marks is every mark.
var Marks = []Mark{MarkQuarantine, MarkPossibleCopy}

// Filter selects dead letters; its zero value means any.
type Filter struct {
	Source      string
	States      []State
	Reason      Reason
	FailureType string // exactly; "": any
	Mark        Mark   // "": marked or not
	RetriesMin  *int64
	RetriesMax  *int64
	Text        string // part of the body, whatever its case; taken literally
	BusinessKey string
	Cursor      string    // the Next of the page before; "": from the newest
	Limit       int       // 0: 50; at most 500
	Now         time.Time // what "the last 24 hours" is counted from; zero: the database's clock
}

// bounded says whether f is looked for only among the deaths of the last 24
// hours, because its text is too short for the index.
func (f Filter) bounded() bool {
	if f.Text == "" {
		return false
	}
	return utf8.RuneCountInString(f.Text) < indexedText || !strings.ContainsFunc(f.Text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	})
}

func (f Filter) limit() int {
	if f.Limit <= 0 {
		return defaultPage
	}
	return min(f.Limit, maxPage)
}

// matches is the condition of a Filter on dead_letters m, with the arguments
// that Filter.args gives. An argument that means "any" is folded away when the
// statement is planned, which is why it is planned anew each time (planned).
const matches = `
	(@source = '' OR m.source = @source)
	AND (@state = '' OR m.state = @state)
	AND (cardinality(@states::text[]) = 0 OR m.state = ANY (@states))
	AND (@reason = '' OR m.reason = @reason)
	AND (@failure_type = '' OR m.failure_type = @failure_type)
	AND (@mark = '' OR (@mark = 'quarantine' AND m.quarantine IS NOT NULL) OR (@mark = 'possible_copy' AND m.possible_copy))
	AND (@retries_min::bigint IS NULL OR m.retry_count >= @retries_min)
	AND (@retries_max::bigint IS NULL OR m.retry_count <= @retries_max)
	AND (@business_key = '' OR m.business_key = @business_key)
	AND (NOT @bounded::boolean OR m.died_at > coalesce(@now::timestamptz, now()) - interval '24 hours')
	AND (@after_died::timestamptz IS NULL OR (m.died_at, m.id) < (@after_died, @after_id::uuid))`

// Conditions of Filter.Text, added to matches where there is one: the search
// text, and for what was drained just now the bodies themselves. What is too
// short for the index is looked for message by message.
const (
	matchesText = `
	AND m.id IN (
		SELECT t.message_id FROM body_texts t WHERE t.text LIKE @pattern
		UNION ALL
		SELECT u.id FROM dead_letters u JOIN lives l ON l.message_id = u.id AND l.round = u.round
		WHERE u.id >= @unsearched::uuid AND ` + bodyMatches + `)`
	matchesShortText = `
	AND coalesce((SELECT t.text LIKE @pattern FROM body_texts t WHERE t.message_id = m.id),
		m.id >= @unsearched::uuid AND (SELECT ` + bodyMatches + ` FROM lives l WHERE l.message_id = m.id AND l.round = m.round), false)`
	// The name of an encoding has a collation that knows ASCII only.
	bodyMatches = `CASE WHEN l.body_is_text THEN lower(convert_from(l.body, 'UTF8') COLLATE "default") LIKE @pattern ELSE false END`
)

// condition returns the condition of f on dead_letters m, and its arguments, or
// ErrBadCursor.
func (s *Store) condition(ctx context.Context, f Filter) (where string, args pgx.NamedArgs, err error) {
	if args, err = f.args(); err != nil || f.Text == "" {
		return matches, args, err
	}
	if args["unsearched"], err = firstUnsearched(ctx, s.pool); err != nil {
		return "", nil, err
	}
	if f.bounded() {
		return matches + matchesShortText, args, nil
	}
	return matches + matchesText, args, nil
}

// planned makes Postgres plan a statement with the values of this call: with a
// plan for all values no condition of a Filter could use its index.
const planned = pgx.QueryExecModeCacheDescribe

// args returns the arguments of matches, or ErrBadCursor.
func (f Filter) args() (pgx.NamedArgs, error) {
	f = f.storable()
	args := pgx.NamedArgs{
		"source": f.Source, "state": "", "states": []string{}, "reason": string(f.Reason), "failure_type": displayable(f.FailureType),
		"mark":        string(f.Mark),
		"retries_min": f.RetriesMin, "retries_max": f.RetriesMax, "business_key": displayable(f.BusinessKey),
		"pattern": "", "bounded": f.bounded(), "now": nil, "after_died": nil, "after_id": uuid.Nil,
	}
	switch len(f.States) {
	case 0:
	case 1: // alone it can be read in the order of an index
		args["state"] = string(f.States[0])
	default:
		args["states"] = stateWords(f.States)
	}
	if f.Text != "" {
		args["pattern"] = "%" + likeEscaper.Replace(strings.ToLower(displayable(f.Text))) + "%"
	}
	if !f.Now.IsZero() {
		args["now"] = f.Now
	}
	if f.Cursor != "" {
		c, err := parseCursor(f.Cursor)
		if err != nil {
			return nil, err
		}
		args["after_died"], args["after_id"] = c.diedAt, c.id
	}
	return args, nil
}

// storable returns f, or, where f asks for text that no column holds and
// Postgres refuses as a value, a filter that matches nothing.
func (f Filter) storable() Filter {
	asked := append(stateWords(f.States), f.Source, string(f.Reason), string(f.Mark), f.FailureType, f.Text, f.BusinessKey)
	if slices.ContainsFunc(asked, func(s string) bool { return !clean(s) }) {
		return Filter{States: []State{"", ""}, Cursor: f.Cursor} // not one state, so that "" is none
	}
	return f
}

// likeEscaper makes LIKE take a text literally.
var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func stateWords(states []State) []string {
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = string(s)
	}
	return words
}

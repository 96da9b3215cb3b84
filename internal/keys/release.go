package keys

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Release frees key if it is still what the token seen was handed out for, and
// says what became of it, with the key as it was just before. Only Released
// freed it; every other result left it alone. It returns ErrBadSeen,
// ErrNoSpace, ErrUnavailable (also with ErrRefused), after all of which no key
// was touched, or ErrReleaseUnknown, after which the key may be gone. The script
// is sent once: a second answer could not tell what the first did. It writes no
// audit: the caller notes the intent before and the result after.
func (r *Registry) Release(ctx context.Context, key, token string) (ReleaseResult, Key, error) {
	s, ok := r.SpaceOf(key)
	if !ok {
		return "", Key{}, fmt.Errorf("keys: release: %w", ErrNoSpace)
	}
	saw, err := decodeSeen(token)
	if err != nil {
		return "", Key{}, err
	}
	reply, err := r.runOnce(ctx, key, releaseArgs(s, saw))
	if err != nil && untouched(err) {
		return "", Key{}, unavailable("release", err)
	}
	if err != nil {
		return "", Key{}, fmt.Errorf("keys: release: %w: %w", ErrReleaseUnknown, err)
	}
	result, before, err := readReply(reply)
	if err != nil {
		return "", Key{}, fmt.Errorf("keys: release: %w: %w", ErrReleaseUnknown, err)
	}
	return result, parse(s, key, before), nil
}

// once is a command that the client must not repeat by itself.
type once struct{ *redis.Cmd }

// NoRetry is asked by the client.
func (once) NoRetry() bool { return true }

// runOnce runs the release script. Only where Redis does not know it yet, and so
// did not run it, is it sent again.
func (r *Registry) runOnce(ctx context.Context, key string, args []any) ([]any, error) {
	reply, err := r.send(ctx, "evalsha", release.Hash(), key, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		return r.send(ctx, "eval", releaseText, key, args)
	}
	return reply, err
}

func (r *Registry) send(ctx context.Context, verb, script, key string, args []any) ([]any, error) {
	cmd := once{redis.NewCmd(ctx, append([]any{verb, script, 1, key}, args...)...)}
	_ = r.client.Process(ctx, cmd) // the command holds its error
	return cmd.Slice()
}

// untouched reports that err shows that the script freed nothing: Redis answered
// with an error, and to free the key is the last that the script does, or it was
// never reached.
func untouched(err error) bool {
	var answer redis.Error
	var line *net.OpError
	switch {
	case errors.As(err, &answer), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrClosed):
		return true
	case errors.As(err, &line):
		return line.Op == "dial"
	}
	return false
}

func releaseArgs(s Space, saw seen) []any {
	where := "none"
	switch s.Style {
	case Status:
		where = "value"
	case Hash:
		where = "status"
	}
	args := []any{
		saw.Type, saw.Print, saw.Expiry, s.redisType(), where,
		s.StuckAfter.Milliseconds(), s.TTL.Milliseconds(),
		wordsFor(Processing), wordsFor(Failed), readBytes,
	}
	for _, f := range hashFields {
		args = append(args, f)
	}
	return args
}

// wordsFor returns the words that say state, with a space around each.
func wordsFor(state State) string {
	var b strings.Builder
	b.WriteString(" ")
	for w, s := range states {
		if s == state {
			b.WriteString(w + " ")
		}
	}
	return b.String()
}

// releaseHead is how many values of the script's reply stand before the fields.
const releaseHead = 6

func readReply(reply []any) (ReleaseResult, raw, error) {
	if len(reply) < releaseHead {
		return "", raw{}, errors.New("the script's reply is too short")
	}
	text := make([]string, releaseHead)
	for i := range text {
		text[i], _ = reply[i].(string)
	}
	now, err1 := strconv.ParseInt(text[1], 10, 64)
	expiry, err2 := strconv.ParseInt(text[3], 10, 64)
	size, err3 := strconv.ParseInt(text[4], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return "", raw{}, err
	}
	before := raw{
		typ: text[2], value: text[5], size: size, expiry: expiry,
		now: time.UnixMilli(now).UTC(),
	}
	for _, v := range reply[releaseHead:] {
		if s, ok := v.(string); ok {
			before.fields = append(before.fields, &s)
			continue
		}
		before.fields = append(before.fields, nil)
	}
	return ReleaseResult(text[0]), before, nil
}

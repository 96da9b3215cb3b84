package keys

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Release frees key if it is still what the token seen was handed out for, and
// says what became of it, with the key as it was just before. Only Released
// freed it; every other result left it alone. It returns ErrBadSeen,
// ErrNoSpace, or ErrUnavailable, after which the key may or may not be gone.
// It writes no audit: the caller notes the intent before and the result after.
func (r *Registry) Release(ctx context.Context, key, token string) (ReleaseResult, Key, error) {
	s, ok := r.SpaceOf(key)
	if !ok {
		return "", Key{}, fmt.Errorf("keys: release: %w", ErrNoSpace)
	}
	saw, err := decodeSeen(token)
	if err != nil {
		return "", Key{}, err
	}
	reply, err := release.Run(ctx, r.client, []string{key}, releaseArgs(s, saw)...).Slice()
	if err != nil {
		return "", Key{}, unavailable("release", err)
	}
	result, before, err := readReply(reply)
	if err != nil {
		return "", Key{}, unavailable("release", err)
	}
	return result, parse(s, key, before), nil
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

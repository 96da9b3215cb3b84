package keys

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// question is what one key is asked. Its commands are not one transaction, and
// need not be: a reading torn by another run holds a value and an expiry that
// never stood together, so a release of it finds the key changed.
type question struct {
	typ     *redis.StatusCmd
	value   *redis.StringCmd
	size    *redis.IntCmd
	fields  *redis.SliceCmd
	context *redis.Cmd
	expiry  *redis.Cmd
	left    bool // expiry answers what is left, not the instant
}

func ask(ctx context.Context, pipe redis.Pipeliner, key string, s Space, old bool) question {
	q := question{typ: pipe.Type(ctx, key), left: old}
	if s.redisType() == typeHash {
		q.fields = pipe.HMGet(ctx, key, hashFields...)
		q.context = pipe.Do(ctx, "HSTRLEN", key, "context")
	} else {
		q.value = pipe.GetRange(ctx, key, 0, readBytes-1)
		q.size = pipe.StrLen(ctx, key)
	}
	command := "PEXPIRETIME"
	if old {
		command = "PTTL"
	}
	q.expiry = pipe.Do(ctx, command, key)
	return q
}

func (q question) answer(now time.Time) (raw, error) {
	r := raw{now: now.UTC()}
	var err error
	if r.typ, err = q.typ.Result(); err != nil {
		return raw{}, err
	}
	if r.expiry, err = q.expiry.Int64(); err != nil {
		return raw{}, err
	}
	if q.left && r.expiry >= 0 {
		r.expiry += now.UnixMilli()
	}
	if q.fields != nil {
		return r, q.answerHash(&r)
	}
	if r.value, err = q.value.Result(); err != nil && !isWrongType(err) {
		return raw{}, err
	}
	if r.size, err = q.size.Result(); err != nil && !isWrongType(err) {
		return raw{}, err
	}
	return r, nil
}

func (q question) answerHash(r *raw) error {
	values, err := q.fields.Result()
	if isWrongType(err) {
		return nil
	}
	if err != nil {
		return err
	}
	r.fields = make([]*string, len(values))
	for i, v := range values {
		if s, ok := v.(string); ok {
			r.fields[i] = &s
		}
	}
	if r.context, err = q.context.Int64(); err != nil && !isWrongType(err) {
		return err
	}
	return nil
}

func isWrongType(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE") }

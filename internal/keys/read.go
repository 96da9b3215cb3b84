package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// readBytes is how much of a string is read: no style needs more, and a key
// that is not what it seems may hold megabytes.
const readBytes = 4096

// manyKeys is how many keys go into one round trip.
const manyKeys = 200

// Registry reads and releases the keys of the configured spaces.
type Registry struct {
	client    redis.UniversalClient
	spaces    spaces
	listed    []Space
	oldRedis  atomic.Bool // before 7.0: no PEXPIRETIME, only what is left
	malformed atomic.Int64
}

// NewRegistry returns a registry of the given spaces. A space without a limit
// of its own takes a key for stuck after five minutes.
func NewRegistry(client redis.UniversalClient, list []Space) *Registry {
	r := &Registry{client: client, spaces: newSpaces(list)}
	for _, s := range list {
		known, _ := r.Space(s.Name)
		r.listed = append(r.listed, known)
	}
	return r
}

// Spaces returns the configured spaces in the order of the configuration.
func (r *Registry) Spaces() []Space { return r.listed }

// Space returns the space called name.
func (r *Registry) Space(name string) (Space, bool) {
	for _, s := range r.spaces {
		if s.Name == name {
			return s, true
		}
	}
	return Space{}, false
}

// SpaceOf returns the space whose pattern key matches; the longest pattern
// where several do.
func (r *Registry) SpaceOf(key string) (Space, bool) { return r.spaces.of(key) }

// Ping returns nil where Redis answers, else ErrUnavailable.
func (r *Registry) Ping(ctx context.Context) error {
	if err := r.client.Ping(ctx).Err(); err != nil {
		return unavailable("ping", err)
	}
	return nil
}

// Read says what stands at key now. It returns ErrNoSpace where no space has
// such keys and ErrUnavailable where Redis does not answer; a key that is not
// there is a reading too.
func (r *Registry) Read(ctx context.Context, key string) (Key, error) {
	read, err := r.ReadMany(ctx, []string{key})
	if err != nil {
		return Key{}, err
	}
	return read[0], nil
}

// ReadMany reads each of keys, in the same order, in as few round trips as
// their number allows. One key without a space, or an answer that did not
// come, fails them all.
func (r *Registry) ReadMany(ctx context.Context, keys []string) ([]Key, error) {
	of := make([]Space, len(keys))
	for i, key := range keys {
		s, ok := r.SpaceOf(key)
		if !ok {
			return nil, fmt.Errorf("keys: read: %w", ErrNoSpace)
		}
		of[i] = s
	}
	read := make([]Key, 0, len(keys))
	for start := 0; start < len(keys); start += manyKeys {
		end := min(start+manyKeys, len(keys))
		part, err := r.readPart(ctx, keys[start:end], of[start:end])
		if err != nil {
			return nil, err
		}
		read = append(read, part...)
	}
	return read, nil
}

// readPart reads keys in one round trip; two where Redis turns out to be old.
func (r *Registry) readPart(ctx context.Context, keys []string, of []Space) ([]Key, error) {
	old := r.oldRedis.Load()
	read, err := r.roundTrip(ctx, keys, of, old)
	if lacksExpireTime(err) && !old {
		r.oldRedis.Store(true)
		read, err = r.roundTrip(ctx, keys, of, true)
	}
	if err != nil {
		return nil, unavailable("read", err)
	}
	return read, nil
}

func (r *Registry) roundTrip(ctx context.Context, keys []string, of []Space, old bool) ([]Key, error) {
	pipe := r.client.Pipeline()
	now := pipe.Time(ctx)
	asked := make([]question, len(keys))
	for i, key := range keys {
		asked[i] = ask(ctx, pipe, key, of[i], old)
	}
	// The error of the whole is the first command's; each is looked at below.
	_, _ = pipe.Exec(ctx)
	at, err := now.Result()
	if err != nil {
		return nil, err
	}
	read := make([]Key, len(keys))
	for i, q := range asked {
		got, err := q.answer(at)
		if err != nil {
			return nil, err
		}
		read[i] = parse(of[i], keys[i], got)
	}
	return read, nil
}

// unavailable says that Redis did not serve verb, and whether it refused. The
// cause is kept: what Redis answers (LOADING, READONLY, OOM, NOPERM) tells what
// to do.
func unavailable(verb string, err error) error {
	if refused(err) {
		return fmt.Errorf("keys: %s: %w: %w: %w", verb, ErrRefused, ErrUnavailable, err)
	}
	return fmt.Errorf("keys: %s: %w: %w", verb, ErrUnavailable, err)
}

// refusals begin the answers of a Redis that is there and will not do it.
var refusals = []string{"READONLY ", "NOPERM ", "NOAUTH ", "WRONGPASS ", "MISCONF ", "NOREPLICAS "}

// refusalsInScripts are found in what a script passes on that a command of its
// own was refused with. A user without the right: up to Redis 7.0, and later and
// in Valkey.
var refusalsInScripts = []string{"-READONLY ", "The user executing the script can't", "ACL failure in script"}

func refused(err error) bool {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return false
	}
	return slices.ContainsFunc(refusals, func(r string) bool { return strings.HasPrefix(answer.Error(), r) }) ||
		slices.ContainsFunc(refusalsInScripts, func(r string) bool { return strings.Contains(answer.Error(), r) })
}

// lacksExpireTime reports that the server does not know PEXPIRETIME, or does
// not let this user run it.
func lacksExpireTime(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer) && strings.Contains(strings.ToUpper(answer.Error()), "'PEXPIRETIME'")
}

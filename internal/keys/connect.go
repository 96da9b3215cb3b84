package keys

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Modes of a Redis installation.
const (
	ModeSingle   = "single"
	ModeSentinel = "sentinel"
	ModeCluster  = "cluster"
)

// Bounds of one command: a page waits for Redis, so Redis gets little time.
const (
	dialTimeout = 2 * time.Second
	ioTimeout   = 3 * time.Second
)

// Options says how Redis is reached.
type Options struct {
	// URLs are redis:// or rediss:// URLs: one in mode single, the nodes in mode
	// cluster, the sentinels in mode sentinel, where the first one's query names
	// the master (?master_name=…).
	URLs []string
	Mode string // one of the Mode constants; "": single
}

// Connect returns a client for o. It does not wait for Redis: a server that is
// down is found out by Ping and by each reading, and used again once it is
// back. It fails only with ErrBadSettings, and then never repeats a URL, which
// may hold a password.
func Connect(_ context.Context, o Options) (redis.UniversalClient, error) {
	quiet.Do(func() { redis.SetLogger(silence{}) })
	if len(o.URLs) == 0 {
		return nil, fmt.Errorf("keys: connect: %w: no URL", ErrBadSettings)
	}
	switch o.Mode {
	case ModeSingle, "":
		if len(o.URLs) > 1 {
			return nil, fmt.Errorf("keys: connect: %w: mode single takes one URL", ErrBadSettings)
		}
		return connectSingle(o.URLs[0])
	case ModeSentinel:
		return connectSentinel(o.URLs)
	case ModeCluster:
		return connectCluster(o.URLs)
	}
	return nil, fmt.Errorf("keys: connect: %w: mode %q is none of single, sentinel, cluster", ErrBadSettings, o.Mode)
}

// quiet stops the client's own lines on stderr: all that they say is returned
// as an error too, and logged once by whoever takes it.
var quiet sync.Once

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// connectSingle and its siblings switch off what the client would tell the
// server about itself: a server that does not know the command, or an ACL that
// does not grant it, must not stand in the way of reading.
func connectSingle(u string) (redis.UniversalClient, error) {
	opts, err := redis.ParseURL(u)
	if err != nil {
		return nil, badURL(1)
	}
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	opts.ContextTimeoutEnabled = true
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	opts.MaxRetries, opts.DialerRetries = 1, 1
	return redis.NewClient(opts), nil
}

func connectSentinel(urls []string) (redis.UniversalClient, error) {
	joined, err := joinURLs(urls)
	if err != nil {
		return nil, err
	}
	opts, err := redis.ParseFailoverURL(joined)
	if err != nil {
		return nil, badURL(1)
	}
	if opts.MasterName == "" {
		return nil, fmt.Errorf("keys: connect: %w: the first URL needs ?master_name=", ErrBadSettings)
	}
	opts.DisableIdentity = true
	opts.ContextTimeoutEnabled = true
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	opts.MaxRetries, opts.DialerRetries = 1, 1
	return redis.NewFailoverClient(opts), nil
}

func connectCluster(urls []string) (redis.UniversalClient, error) {
	joined, err := joinURLs(urls)
	if err != nil {
		return nil, err
	}
	opts, err := redis.ParseClusterURL(joined)
	if err != nil {
		return nil, badURL(1)
	}
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	opts.ContextTimeoutEnabled = true
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	opts.DialerRetries = 1
	return redis.NewClusterClient(opts), nil
}

// joinURLs returns the first URL with the hosts of the others as the client's
// own addr parameters.
func joinURLs(urls []string) (string, error) {
	first, err := url.Parse(strings.TrimSpace(urls[0]))
	if err != nil {
		return "", badURL(1)
	}
	q := first.Query()
	for i, u := range urls[1:] {
		other, err := url.Parse(strings.TrimSpace(u))
		if err != nil || other.Port() == "" {
			return "", badURL(i + 2)
		}
		q.Add("addr", other.Host)
	}
	first.RawQuery = q.Encode()
	return first.String(), nil
}

func badURL(n int) error {
	return fmt.Errorf("keys: connect: %w: URL %d is not a redis:// or rediss:// URL with host and port", ErrBadSettings, n)
}

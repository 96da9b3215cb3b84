package guard

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is how long is waited between tries: Min, then twice as long each
// time up to Max, each with a random fifth taken off so that consumers that
// failed together do not come back together.
type Backoff struct {
	Min, Max time.Duration
}

// after returns the wait after the n-th try, counted from 0.
func (b Backoff) after(n int) time.Duration {
	wait := b.Max
	if n < 30 && b.Min<<n < b.Max {
		wait = b.Min << n
	}
	return wait - time.Duration(rand.Int64N(int64(wait)/5+1))
}

// sleep waits, and reports whether it waited to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

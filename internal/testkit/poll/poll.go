// Package poll waits in tests for what happens elsewhere, without sleeping a
// guessed time.
package poll

import (
	"testing"
	"time"
)

// interval is short enough not to be felt and long enough to leave the cores
// to what is waited for.
const interval = 10 * time.Millisecond

// Until calls check until it returns nil, and fails the test with check's last
// error when it has not within the given time. An error is how check says what
// is still missing.
func Until(tb testing.TB, within time.Duration, check func() error) {
	tb.Helper()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("after %v: %v", within, err)
		}
		time.Sleep(interval)
	}
}

// True is Until for a condition that is just true or not; what says in the
// failure what was waited for.
func True(tb testing.TB, within time.Duration, what string, condition func() bool) {
	tb.Helper()
	deadline := time.Now().Add(within)
	for !condition() {
		if time.Now().After(deadline) {
			tb.Fatalf("after %v still not: %s", within, what)
		}
		time.Sleep(interval)
	}
}

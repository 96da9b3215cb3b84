package rabbit_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails the tests if a goroutine of this package or of the client
// library outlives them: each must have an owner that ends it.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leftover(10 * time.Second); code == 0 && left != "" {
		fmt.Fprintln(os.Stderr, "goroutines are left over:\n\n"+left)
		code = 1
	}
	os.Exit(code)
}

// leftover waits until no such goroutine is left, and returns the stacks of
// those that are still there then.
func leftover(patience time.Duration) string {
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		left := running()
		if left == "" || time.Now().After(deadline) {
			return left
		}
	}
}

func running() string {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var left []string
	for i, stack := range strings.Split(string(stacks), "\n\n") {
		if i > 0 && (strings.Contains(stack, "internal/rabbit.") || strings.Contains(stack, "amqp091")) {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

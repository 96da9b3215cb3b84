package main

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"
)

// A body is JSON of exactly the size asked for, and no two are alike.
func TestBodiesHaveTheirSize(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, size := range []int{minBody, 300, 1 << 10, 10 << 10, 1 << 20} {
		for n := range 50 {
			body := message(n, size, time.Now()).Body
			var order struct{ OrderNo string }
			if err := json.Unmarshal(body, &order); err != nil {
				t.Fatalf("size %d, message %d: %v", size, n, err)
			}
			if len(body) != size || order.OrderNo != orderNo(n, size) {
				t.Errorf("size %d, message %d: %d bytes, order %q", size, n, len(body), order.OrderNo)
			}
			seen[string(body)] = true
		}
	}
	if len(seen) != 250 {
		t.Errorf("%d different bodies of 250", len(seen))
	}
}

// Bodies that shrink to nothing would flatter the store.
func TestBodiesDoNotCompressAway(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		t.Fatal(err)
	}
	const n, size = 200, 1 << 10
	for i := range n {
		if _, err := w.Write(message(i, size, time.Now()).Body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if ratio := float64(packed.Len()) / (n * size); ratio < 0.3 {
		t.Errorf("the bodies compress to %.0f %%", ratio*100)
	}
}

func TestMessagesDiedFiveTimes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	m := message(7, 1<<10, now)
	deaths, _ := m.Headers["x-death"].([]any)
	if len(deaths) != 5 {
		t.Fatalf("%d entries of x-death", len(deaths))
	}
	for i, d := range deaths {
		for _, name := range []string{"queue", "reason", "count", "time", "exchange", "routing-keys"} {
			if d.(amqp.Table)[name] == nil {
				t.Errorf("entry %d has no %s", i, name)
			}
		}
	}
	if err := m.Headers.Validate(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(m, message(7, 1<<10, now)); diff != "" {
		t.Errorf("the same message twice:\n%s", diff)
	}
}

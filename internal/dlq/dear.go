package dlq

import (
	"sync"
	"time"
)

const (
	// dearFrom is from which cost on an answer is kept; what is cheaper is always
	// asked anew.
	dearFrom = 15 * time.Millisecond
	// dearShare is how many times its cost an answer serves: a question that comes
	// all the time then takes at most that part of a processor.
	dearShare = 30
	// dearMost bounds the age of an answer.
	dearMost = 5 * time.Second
)

// dear asks a question that may cost much, and keeps the answer for a while
// that follows from its cost. Callers must not change the answer. Its zero value
// is ready.
type dear[T any] struct {
	mu     sync.Mutex
	answer T
	until  time.Time
}

// get returns the answer that is kept, or asks. Those who come meanwhile wait
// for the same answer.
func (d *dear[T]) get(ask func() (T, error)) (T, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	began := time.Now()
	if began.Before(d.until) {
		return d.answer, nil
	}
	answer, err := ask()
	if cost := time.Since(began); err == nil && cost >= dearFrom {
		d.answer, d.until = answer, time.Now().Add(min(dearShare*cost, dearMost))
	}
	return answer, err
}

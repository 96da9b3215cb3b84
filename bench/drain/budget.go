package main

import "sync/atomic"

// budget counts down what several consumers share.
type budget struct {
	n    atomic.Int64
	none chan struct{} // closed when nothing is left
}

func (b *budget) take() {
	if b.n.Add(-1) == 0 {
		close(b.none)
	}
}

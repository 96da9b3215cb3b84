package rabbit

import "sync"

// aside is the header table of one delivery, which the client library has not
// seen.
type aside struct {
	tag     uint64
	table   []byte
	problem string // why the message's properties cannot be told apart; table is all of them then
}

// headerQueue keeps the header tables of the deliveries of one channel, which
// come and are fetched in the order of their tags. A nil queue is empty.
type headerQueue struct {
	mu      sync.Mutex
	waiting []aside
	first   int
}

// reset forgets all tables: tags begin anew with each channel.
func (q *headerQueue) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting, q.first = nil, 0
}

func (q *headerQueue) put(a aside) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, a)
}

// take returns what was put aside for tag, and forgets it with all before it.
// The client library drops deliveries that come after their subscription ended.
func (q *headerQueue) take(tag uint64) aside {
	if q == nil {
		return aside{}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.first < len(q.waiting) && q.waiting[q.first].tag <= tag {
		a := q.waiting[q.first]
		q.waiting[q.first] = aside{}
		if q.first++; q.first == len(q.waiting) {
			q.waiting, q.first = q.waiting[:0], 0
		}
		if a.tag == tag {
			return a
		}
	}
	return aside{}
}

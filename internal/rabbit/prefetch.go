package rabbit

const (
	// maxPrefetch is the most that AMQP can say.
	maxPrefetch = 65535
	// prefetchGrowth is by how much a prefetch may grow after it went well.
	prefetchGrowth = 8
)

// prefetch learns how many messages a subscription may ask for, so that what
// the broker sends fits into memory: RabbitMQ keeps no limit in bytes. It
// starts with one message, for the first may be of any size.
type prefetch struct {
	most    int   // the most that one subscription has brought
	largest int64 // the largest message of late
}

// next returns how many more messages to ask for where a window holds the
// given number and bytes, or 0 if the window is full.
func (p *prefetch) next(l Limits, held int, bytes int64) int {
	n := min(l.Messages-held, maxPrefetch, max(1, p.most*prefetchGrowth))
	if p.largest > 0 {
		n = int(min(int64(n), (l.Bytes-bytes)/p.largest))
	}
	if held > 0 {
		return max(0, n)
	}
	return max(1, n)
}

// saw takes in what a subscription brought. Large messages are forgotten
// slowly, for they tend to come again.
func (p *prefetch) saw(received int, largest int64) {
	if received == 0 {
		return
	}
	p.most = max(p.most, received)
	p.largest = max(largest, p.largest-p.largest/8)
}

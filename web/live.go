package web

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
)

const (
	pulseEvery   = time.Second
	figuresEvery = 10 * time.Second // what costs more than the cheap counts
	maxStreams   = 200
)

// errTooManyStreams: as many pages listen as the console takes; this one shows
// what was true when it was read.
var errTooManyStreams = errors.New("web: too many open event streams")

// pulse is what the pages are kept fresh with.
type pulse struct {
	totals   totals
	statuses []dlq.SourceStatus
	figured  time.Time // when totals.fresh was counted; zero: never
}

// broadcaster hands each pulse to everybody who listens. A listener that is
// slow misses pulses, never the newest one.
type broadcaster struct {
	mu        sync.Mutex
	listeners map[chan pulse]struct{}
	latest    *pulse
	ended     chan struct{}
	over      bool
}

func newBroadcaster() *broadcaster {
	return &broadcaster{listeners: map[chan pulse]struct{}{}, ended: make(chan struct{})}
}

// run reads a pulse every second until ctx ends; then it ends every stream.
func (b *broadcaster) run(ctx context.Context, read func(context.Context, pulse) (pulse, error), log *slog.Logger) {
	defer b.end()
	tick := time.NewTicker(pulseEvery)
	defer tick.Stop()
	well := true
	for {
		well = b.beat(ctx, read, log, well)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// beat reads and hands out one pulse. It logs a failure when it begins and not
// again each second.
func (b *broadcaster) beat(ctx context.Context, read func(context.Context, pulse) (pulse, error), log *slog.Logger, well bool) bool {
	p, err := read(ctx, b.last())
	if err != nil {
		if well && ctx.Err() == nil {
			log.WarnContext(ctx, "live figures cannot be read", "err", err)
		}
		return false
	}
	b.send(p)
	return true
}

func (b *broadcaster) send(p pulse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latest = &p
	for l := range b.listeners {
		select {
		case <-l: // the old one was not taken yet
		default:
		}
		l <- p
	}
}

func (b *broadcaster) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.over = true
		close(b.ended)
	}
}

// last returns the newest pulse, the zero pulse where there is none yet.
func (b *broadcaster) last() pulse {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.latest == nil {
		return pulse{}
	}
	return *b.latest
}

// open returns how many messages are open; false where that is not known yet.
func (b *broadcaster) open() (int64, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.latest == nil {
		return 0, false
	}
	return b.latest.totals.open, true
}

func (b *broadcaster) busy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.listeners) > 0
}

// listen returns a stream of pulses, beginning with the newest, and what ends
// it; or errTooManyStreams.
func (b *broadcaster) listen() (<-chan pulse, func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.listeners) >= maxStreams {
		return nil, nil, errTooManyStreams
	}
	l := make(chan pulse, 1)
	if b.latest != nil {
		l <- *b.latest
	}
	b.listeners[l] = struct{}{}
	return l, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, l)
	}, nil
}

// readPulse reads the cheap counts, and now and then while somebody listens
// the dearer ones.
func (s *Server) readPulse(ctx context.Context, before pulse) (pulse, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	now := s.Now()
	p := pulse{statuses: s.Sources.Statuses(), figured: before.figured}
	if s.live.busy() && now.Sub(before.figured) >= figuresEvery {
		figures, err := s.Messages.Figures(ctx, now)
		if err != nil {
			return pulse{}, err
		}
		p.totals, p.figured = sum(figures), now
		return p, nil
	}
	counts, err := s.Messages.OpenCounts(ctx)
	if err != nil {
		return pulse{}, err
	}
	all := make([]dlq.SourceFigures, 0, len(counts))
	for _, f := range counts {
		all = append(all, f)
	}
	p.totals = sum(all)
	p.totals.fresh = before.totals.fresh
	return p, nil
}

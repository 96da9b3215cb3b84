package main

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/bench/own"
)

// phase is a part of a run with a verdict of its own.
type phase struct {
	name  string // in figures
	words string
	kills int
	run   func(context.Context, *world, *play) error
}

// play is what a phase does with the world while it runs.
type play struct {
	phase
	deck  *deck
	kills int // so far
	turns int
	last  string // what was struck last
}

// The phases: kills of console, connections and Postgres with time to recover
// after each; the same without; kills of the broker; kills of all.
func phases(o options) []phase {
	return []phase{
		{"single", "console, connections, Postgres; one kill at a time", o.kills, single},
		{"dense", "the same, kill upon kill", o.dense, dense},
		{"broker", "the broker, while it drains", o.broker, brokerKills},
		{"blackout", "both consoles at an ack, and later the broker", o.blackouts, blackouts},
	}
}

// perform runs a phase to its end: everything published is drained, and both
// consoles have ended in good order.
func (w *world) perform(ctx context.Context, number int, p phase) (verdict, error) {
	pl := &play{phase: p, deck: newDeck(w.random, number+1)}
	w.hits = 0
	if err := w.start(ctx); err != nil {
		return verdict{}, err
	}
	if err := p.run(ctx, w, pl); err != nil {
		return verdict{}, fmt.Errorf("phase %s, after %d kills: %w", p.name, pl.kills, err)
	}
	if err := w.publisher.burst(ctx, pl.deck.rest()); err != nil {
		return verdict{}, err
	}
	if err := w.settle(ctx); err != nil {
		return verdict{}, fmt.Errorf("end of phase %s: %w", p.name, err)
	}
	v, err := w.judge(ctx, number+1)
	v.kills, v.hits = pl.kills, w.hits
	progress("%s: %d kills, %s", p.name, v.kills, v)
	return v, err
}

// turn publishes a burst and strikes while it is published and drained.
func (w *world) turn(ctx context.Context, p *play, size int, f fault) error {
	numbers := p.deck.deal(size, p.turns%10 >= 7) // three turns of ten, all alike
	published := make(chan error, 1)
	publishing, stop := context.WithCancel(ctx)
	defer stop()
	go func() { published <- w.publisher.burst(publishing, numbers) }()
	err := own.Rest(ctx, w.moment(time.Duration(40+size/2)*time.Millisecond))
	if err == nil {
		err = f.strike(ctx, w)
	}
	if err != nil {
		stop()
	}
	late := <-published
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	p.turns, p.last = p.turns+1, f.name
	if !f.gentle {
		p.kills++
	}
	w.kinds[f.name]++
	if p.turns%20 == 0 || p.phase.kills < 20 {
		w.tell(ctx, p)
	}
	return late
}

func (w *world) tell(ctx context.Context, p *play) {
	stored, err := w.rows(ctx)
	if err != nil {
		stored = -1
	}
	progress("%s: %d of %d kills, %d messages confirmed, %d stored", p.name, p.kills, p.phase.kills, w.publisher.totals().confirmed, stored)
}

// single strikes once the drain has recovered from the strike before.
func single(ctx context.Context, w *world, p *play) error {
	for p.kills < p.phase.kills {
		if err := w.turn(ctx, p, w.size(), w.pick(faults)); err != nil {
			return err
		}
		if err := w.recover(ctx, p); err != nil {
			return err
		}
		w.watchSurplus(ctx, p)
	}
	return nil
}

// recover returns when the drain is dry, and has done one more window of each
// queue: an empty queue and a full store do not tell that nobody holds messages
// whose ack is in doubt.
func (w *world) recover(ctx context.Context, p *play) error {
	if err := w.awaitDry(ctx); err != nil {
		return err
	}
	if err := w.publisher.burst(ctx, p.deck.pair()); err != nil {
		return err
	}
	if err := w.awaitDry(ctx); err != nil {
		return err
	}
	return until(ctx, drainWithin, w.settled)
}

// watchSurplus says after which strike there was more in the store than was
// published.
func (w *world) watchSurplus(ctx context.Context, p *play) {
	stored, err := w.rows(ctx)
	total := w.publisher.totals()
	if over := stored - total.confirmed - total.uncertain; err == nil && over > w.over {
		progress("%s: turn %d (%s) brought %d rows too many", p.name, p.turns, p.last, over-w.over)
		w.over, w.short = over, -over
	}
}

// dense strikes again before anything has recovered.
func dense(ctx context.Context, w *world, p *play) error {
	for p.kills < p.phase.kills {
		if err := w.turn(ctx, p, w.size()/2+1, w.pick(faults)); err != nil {
			return err
		}
		if p.turns%10 == 0 { // so that the queues stay short
			if err := w.awaitDry(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// brokerKills kills the broker while messages are drained, and now and then a
// console with it.
func brokerKills(ctx context.Context, w *world, p *play) error {
	kill := fault{"broker killed", 1, false, func(ctx context.Context, w *world) error {
		w.broker.kill()
		return w.broker.start(ctx)
	}}
	withConsole := fault{"broker killed, and a console", 1, false, func(ctx context.Context, w *world) error {
		w.broker.kill()
		if err := w.any().restart(ctx); err != nil {
			return err
		}
		return w.broker.start(ctx)
	}}
	for p.kills < p.phase.kills {
		f := kill
		if p.turns%4 == 3 {
			f = withConsole
		}
		if err := w.turn(ctx, p, 200+w.random.IntN(400), f); err != nil {
			return err
		}
		if err := w.awaitDry(ctx); err != nil {
			return err
		}
	}
	return nil
}

// blackouts kill the consoles when a broker has just heard an ack, let it write
// that down and take twins of what was acked, and kill it before anyone looks:
// then it says of all that it has that it delivered it before.
func blackouts(ctx context.Context, w *world, p *play) error {
	atAck := at(amqpLine, ackSent, func(_ context.Context, w *world, _ *console) error {
		for _, c := range w.consoles {
			c.process.kill()
		}
		return nil
	})
	f := fault{"consoles killed at an ack, and later the broker", 1, false, func(ctx context.Context, w *world) error {
		if err := atAck(ctx, w); err != nil {
			return err
		}
		if err := w.publisher.burst(ctx, p.deck.deal(2+w.random.IntN(100), true)); err != nil {
			return err
		}
		if err := own.Rest(ctx, 8*time.Second); err != nil { // acks of the last seconds would be forgotten
			return err
		}
		w.broker.kill()
		if err := w.broker.start(ctx); err != nil {
			return err
		}
		return w.start(ctx)
	}}
	for p.kills < p.phase.kills {
		p.turns = 7 // all alike
		if err := w.turn(ctx, p, 20+w.random.IntN(400), f); err != nil {
			return err
		}
		if err := w.awaitDry(ctx); err != nil {
			return err
		}
	}
	return nil
}

// size is how many messages a burst has: mostly few, now and then more than a
// window takes.
func (w *world) size() int {
	switch n := w.random.IntN(100); {
	case n < 70:
		return 30 + w.random.IntN(120)
	case n < 97:
		return 150 + w.random.IntN(350)
	default:
		return 2500
	}
}

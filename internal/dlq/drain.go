package dlq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

const (
	// windowMessages and windowBytes bound what one source holds in memory.
	windowMessages = 2000
	windowBytes    = 32 << 20
	// turn bounds how long the drain waits for messages before it looks up,
	// and how long a window may fill.
	turn = time.Second
	// firstTurn is shorter, so that it is soon known whether the queue is there.
	firstTurn = 100 * time.Millisecond
	// defaultGrace is the Grace of a drain that is not told another one.
	defaultGrace = 15 * time.Second
	// patient is how often a queue that has messages may give none before that is
	// shown.
	patient = 3
)

// errPaused: an operator has paused the source.
var errPaused = errors.New("paused")

// DrainOptions are what a Drain stands on. Management and Returns may be nil.
type DrainOptions struct {
	Source     Source
	URL        string // of the broker, with its password
	FrameMax   int    // the largest content header to take, in bytes; 0: the default of package rabbit
	Management *rabbit.Management
	Pool       *pgxpool.Pool
	Returns    returnNoter
	Metrics    *Metrics
	Log        *slog.Logger
	// Grace is how long a window in hand may take once the console shuts down; 0:
	// 15 seconds.
	Grace time.Duration
}

// Drain brings the messages of one terminal queue into the store.
type Drain struct {
	DrainOptions
	wake      chan struct{} // ends a wait early
	inspector *rabbit.Inspector

	// single is how many windows of one message are still to come: behind a
	// message that cannot be read a larger window never ends well. Run's own.
	single int
	// trial is what the store did not take last time, or its start, which is
	// halved with each rehearsal that fails. It is rehearsed before the broker is
	// asked again: each window that is given back uses up what a quorum queue
	// allows a message. Run's own.
	trial []*letter
	// accused is a message that the store fails at, though it takes others. Run's own.
	accused *accusation
	// most bounds the windows after one that the store did not take: no more is
	// asked for than was rehearsed, and then ever more again; 0: no bound. Run's own.
	most int
	// idled is how often in a row the queue had messages and gave none. Run's own.
	idled    int
	lookedAt time.Time // when it was last asked by AMQP who else consumes. Run's own.

	busy atomic.Bool // messages come in

	mu        sync.Mutex
	status    SourceStatus
	kind      string                  // of the trouble that is shown; "": none
	reading   reading                 // the last one
	foreign   bool                    // somebody else consumes the queue, or did when it was taken for a work queue
	since     time.Time               // since when, as far as is known
	work      bool                    // others consumed it for so long that it is their work queue
	confirmed []string                // the IDs of hazards that an operator has confirmed
	held      func() int              // what the consumer holds; nil: none is open
	stop      context.CancelCauseFunc // ends the session at hand; nil: there is none
	acked     []uuid.UUID             // windows proven to be acked whose receipts are still there
	stuck     bool                    // the message at the head of the queue cannot be read
}

// NewDrain returns a drain that does nothing until it is Run.
func NewDrain(o DrainOptions) *Drain {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Log = o.Log.With("source", o.Source.Name)
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	return &Drain{
		DrainOptions: o,
		wake:         make(chan struct{}, 1),
		inspector:    rabbit.NewInspector(o.URL, "dead letter office: depth of "+o.Source.Name),
		status: SourceStatus{
			Name: o.Source.Name, Queue: o.Source.Queue, Broker: o.Source.Broker,
			State: SourceDown, Why: "not connected yet",
		},
	}
}

// Busy says whether messages come in right now.
func (d *Drain) Busy() bool { return d.busy.Load() }

// Run drains until ctx ends, and then returns nil, after it has finished the
// window in hand or given it back. Whatever goes wrong on the way shows in
// Status, and is tried again.
func (d *Drain) Run(ctx context.Context) error {
	defer d.inspector.Close()
	var watching sync.WaitGroup
	watching.Go(func() { d.watch(ctx) })
	defer watching.Wait()
	var pace backoff
	for ctx.Err() == nil {
		began := time.Now()
		err := d.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if d.stumbled(err) || errors.Is(err, errYield) {
			continue
		}
		trouble := troubleOf(err, d.Source)
		d.show(ctx, trouble, err)
		if time.Since(began) > trouble.pace.slowest {
			pace.reset()
		}
		d.rest(ctx, pace.next(trouble.pace.quickest, trouble.pace.slowest))
	}
	return nil
}

// stumbled takes in whether a message that cannot be read ended the session. It
// says whether to go on at once, one message at a time, so that all before it is
// drained. A window of one that fails is the head of the queue.
func (d *Drain) stumbled(err error) (goOn bool) {
	poison := errors.Is(err, rabbit.ErrPoison)
	goOn = poison && d.single == 0
	if poison {
		d.single = windowMessages
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stuck = poison && !goOn
	return goOn
}

// rest waits, but not longer than until somebody resumes the source, or takes
// off the message that it is stuck at; with a wait of 0 that alone ends it.
func (d *Drain) rest(ctx context.Context, wait time.Duration) {
	var over <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-d.wake:
	case <-ctx.Done():
	}
}

// session drains until something is wrong, and says what.
func (d *Drain) session(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	d.enter(stop)
	defer d.enter(nil)
	if err := d.mayDrain(ctx, d.Pool); err != nil {
		return err
	}
	ledger, err := takeTurn(ctx, d.Pool, d.Source, d.Returns, func() { d.show(ctx, standby, nil) })
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	if err != nil {
		return storeError{err}
	}
	defer ledger.close()
	if err := d.rehearse(ctx, ledger); err != nil {
		return storeError{err}
	}
	consumer, err := rabbit.DialConsumerWith(ctx, d.URL, "dead letter office: drain of "+d.Source.Name, d.FrameMax)
	if err != nil {
		return err
	}
	defer d.hold(nil)
	defer d.busy.Store(false)
	defer consumer.Close()
	d.hold(consumer.Held)
	if err := d.checkTerminal(ctx); err != nil {
		return err
	}
	if err := ledger.begin(ctx, d.owed(), time.Now()); err != nil {
		return storeError{err}
	}
	d.paid()
	wait := firstTurn
	if ledger.awaited > 0 { // what comes back must not be cut in two
		wait = turn
	}
	for {
		if err := d.step(ctx, ledger, consumer, wait); err != nil {
			return err
		}
		d.show(ctx, d.standing(), nil)
		if err := d.recheck(ctx); err != nil {
			return err
		}
		wait = turn
	}
}

// rehearse finds out whether the store takes by now what it did not take last
// time, and makes do with less of it each time. A message that fails alone,
// while another one would be taken, is at fault itself: the drain goes on, and
// puts it in quarantine when it comes.
func (d *Drain) rehearse(ctx context.Context, ledger *ledger) error {
	err := ledger.rehearse(ctx, d.trial)
	if err == nil {
		d.trial = nil
		return nil
	}
	if len(d.trial) > 1 {
		d.trial = d.trial[:(len(d.trial)+1)/2] // it may take less
		d.most = len(d.trial)
		return err
	}
	blank := prepare(rabbit.Delivery{}, d.Source, time.Now())
	if ledger.conn.IsClosed() || ledger.rehearse(ctx, []*letter{blank}) != nil {
		return err
	}
	d.accused = &accusation{d.trial[0].fingerprint, "Postgres failed at it: " + cut(displayable(err.Error()), maxQuarantine)}
	d.trial = nil
	return nil
}

// accusation is a message that the store fails at, and how.
type accusation struct {
	fingerprint fingerprint
	why         string
}

// letterOf is prepare, with the accused in quarantine.
func (d *Drain) letterOf(delivery rabbit.Delivery, at time.Time) *letter {
	x := prepare(delivery, d.Source, at)
	if d.accused != nil && x.fingerprint == d.accused.fingerprint {
		return x.quarantined(d.accused.why)
	}
	return x
}

// step drains one window, or finds that there is none.
func (d *Drain) step(ctx context.Context, ledger *ledger, consumer *rabbit.Consumer, wait time.Duration) error {
	lasting, finished := finishing(ctx, d.Grace)
	defer finished()
	in := &intake{ledger: ledger}
	defer func() { in.abandon(lasting) }()
	waiting, done := context.WithTimeout(ctx, wait)
	limits := rabbit.Limits{Messages: windowMessages, Bytes: windowBytes, Each: func(place int, delivery rabbit.Delivery) {
		d.busy.Store(true)
		if place == 0 { // the window is filled anew
			in.abandon(lasting)
			in = &intake{ledger: ledger, at: time.Now()}
		}
		in.take(lasting, d.letterOf(delivery, in.at))
	}}
	if d.most > 0 {
		limits.Messages = d.most
		if ledger.first { // what is stored already costs the store nothing, and must not come in pieces
			limits.Messages = max(d.most, ledger.awaited)
		}
	}
	if d.single > 0 {
		limits.Messages = 1
	}
	window, err := consumer.Next(waiting, d.Source.Queue, limits)
	done()
	if err != nil { // its transaction must not hold what comes next
		in.abandon(lasting)
	}
	switch {
	case err == nil:
		ledger.distrust = window.Refilled
		d.single, d.idled = max(0, d.single-1), 0
		err = d.drain(lasting, in, window)
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		d.busy.Store(false)
		err = d.idle(ctx, ledger)
	}
	return err
}

// drain brings a window from the broker into the store, exactly once.
//
//	receive → parse → one transaction: rows, lives, receipts → commit → ack → forget the receipts
//
// A receipt names a delivery by a hash of all that makes it. It exists from the
// commit until it is proven that the broker has heard the ack. A window is all
// that is in flight on the connection, it is acked by one frame, and one console
// at a time drains a source; so after a crash either all of a window comes back,
// marked as redelivered, or nothing of it. What a crash leaves behind:
//
//   - before the commit: no row and no receipt. The window comes back and is
//     stored.
//   - in the commit, so that its result is not known: the window is given back.
//     It comes back, and whether it has receipts tells what the commit did.
//   - after the commit, before the broker has heard the ack: the window comes
//     back, each delivery meets its own receipt, once, so that twins stay two.
//     No row is added; the receipts pass on to the new window.
//   - after the broker has heard the ack, before the receipts are forgotten:
//     nothing comes back. The receipts are forgotten once nothing can come back
//     any more (forgive), or at once where this process knows of the ack.
//
// A receipt can be met by a twin of its message, which would then be lost.
// recognise says when receipts are believed. Where that is not certain, and
// where a message comes again after its receipt was forgotten (a broker that is
// killed forgets acks of its last moments), it is stored once more and marked as
// a possible copy: never lost, and never silently twice.
//
// Where the store fails, the window is given back and nothing is lost.
func (d *Drain) drain(ctx context.Context, in *intake, window *rabbit.Window) error {
	stored, err := in.store(ctx)
	if err != nil {
		d.trial = in.letters
		d.most = len(d.trial)
		if back := window.Return(ctx); back != nil {
			d.Log.WarnContext(ctx, "window not returned; the broker takes it back by itself", "err", back)
		}
		return storeError{err}
	}
	d.count(stored, in.at)
	if d.most *= 2; d.most > windowMessages {
		d.most = 0
	}
	if err := window.Ack(ctx); err != nil {
		return fmt.Errorf("dlq: ack window: %w", err)
	}
	if err := in.ledger.settle(ctx, stored.window); err != nil {
		d.owe(stored.window)
		return storeError{err}
	}
	if err := in.ledger.forgive(ctx, time.Now()); err != nil {
		return storeError{err}
	}
	return in.ledger.yield(ctx, time.Now())
}

// idle looks up from a queue that has given nothing: is the lock still held, has
// somebody paused the source elsewhere, can old receipts go.
func (d *Drain) idle(ctx context.Context, ledger *ledger) error {
	d.idled++
	if ready, _, err := d.inspector.Depth(ctx, d.Source.Queue); err != nil || ready == 0 {
		d.idled = 0
	}
	if err := d.mayDrain(ctx, ledger.conn); err != nil {
		return err
	}
	if err := ledger.forgive(ctx, time.Now()); err != nil {
		return storeError{err}
	}
	return nil
}

// standing is what a session shows that is not in trouble.
func (d *Drain) standing() trouble {
	if d.idled < patient {
		return trouble{state: SourceUp}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reading.ready == nil {
		return trouble{state: SourceUp}
	}
	return starved(d.Source, *d.reading.ready)
}

// mayDrain reads the source's settings, and returns errPaused if it is paused.
func (d *Drain) mayDrain(ctx context.Context, db querier) error {
	s, err := readSettings(ctx, db, d.Source.Name)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return storeError{err}
	}
	d.apply(s)
	if s.paused {
		return errPaused
	}
	return nil
}

// finishing returns a context that outlives ctx by a grace, for what must not
// stop halfway.
func finishing(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, cancel)
		context.AfterFunc(inner, func() { timer.Stop() })
	})
	return inner, func() { stop(); cancel() }
}

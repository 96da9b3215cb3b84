package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// Replay sends one message back, in this order, which is the heart of the
// console:
//
//  1. Preflight: a request that is not allowed ends here, and nothing is
//     written.
//  2. Claim, one transaction: the message by compare-and-set with a lease, a
//     replay, its attempt (waiting), the audit's "intended". Of many at once
//     one wins; the others get ErrClaimLost with who and since when.
//  3. Message, keys and guards are read again; where the request does not
//     allow what they now say, the attempt is skipped.
//     So it is where what would be sent is not what the request agrees to.
//  4. The keys that were asked for are released, each audited before and
//     after. What is not as the operator saw it blocks the attempt.
//  5. One transaction: destination and evidence on the attempt, the lease
//     renewed. Who lost the claim by now sends nothing.
//  6. Publish, mandatory, until the confirm and with a look for a return, for
//     less time than the lease.
//  7. One transaction: attempt, message state, audit.
//
// From step 2 on the caller's context does not end it. A crash before step 5
// leaves an attempt that was surely not sent; a crash after it leaves one that
// becomes unknown when the lease runs out, and is never published again by
// itself (see Run). What followed is in Result; an error says that the message
// was not sent: dlq.ErrNotFound, dlq.ErrBadState, ErrClaimLost, ErrNoDestination,
// ErrNotSent with the preflight (also keys.ErrUnavailable where Redis is down),
// ErrPossibleCopy with the look-alikes, ErrNotAgreed and ErrNoUnit with what
// would be sent,
// keys.ErrReleaseUnknown where a key may have been released all the same,
// ErrKeyChanged, ErrNotItsKey, ErrNoReason, keys.ErrBadSeen, rabbit.ErrUnavailable.
func (s *Service) Replay(ctx context.Context, r Request) (Result, error) {
	sub, err := s.look(ctx, r.MessageID)
	if err != nil {
		return Result{}, err
	}
	if err := s.mayClaim(ctx, r, sub); err != nil {
		return Result{}, err
	}
	c, err := s.claim(ctx, r, sub)
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.lease)
	defer cancel()
	return s.send(ctx, c)
}

// mayClaim looks at everything that can be known before the claim.
func (s *Service) mayClaim(ctx context.Context, r Request, sub subject) error {
	m := lockedMessage{
		state: sub.message.State, since: sub.message.StateSince, quarantine: sub.message.Quarantine != "",
		claimedBy: sub.message.ClaimedBy,
	}
	if err := m.claimable(r); err != nil {
		return fmt.Errorf("replay: message %s: %w", sub.message.ID, err)
	}
	if err := r.check(sub); err != nil {
		return err
	}
	if _, err := s.broker(sub.plan); sub.plan.Broker != "" && err != nil {
		return err
	}
	p, err := sub.preflight(r.Route)
	if err != nil {
		return err
	}
	if !r.allows(sub, sub.message.State) {
		return &NotSentError{Preflight: p, Cause: sub.cause()}
	}
	if !r.allowsCopy(sub) {
		return s.mayBeCopy(ctx, sub, p)
	}
	return s.mayEdit(ctx, r, sub, p)
}

func (s *Service) mayBeCopy(ctx context.Context, sub subject, p Preflight) error {
	var err error
	if p.Lookalikes, err = s.store.Lookalikes(ctx, sub.message); err != nil {
		return err
	}
	return &PossibleCopyError{Preflight: p}
}

// send does steps 3 to 7 of Replay.
func (s *Service) send(ctx context.Context, c claim) (Result, error) {
	sub, err := s.look(ctx, c.id.String())
	if err != nil {
		return s.giveUp(ctx, c, ending{state: Blocked, detail: "the message could not be read again; nothing was sent"}, err)
	}
	p, err := sub.preflight(c.request.Route)
	if err != nil {
		return s.giveUp(ctx, c, ending{state: Blocked, detail: err.Error()}, err)
	}
	if !c.request.allows(sub, c.was) {
		why := "the guards say something else than before: " + string(p.Verdict) + " (" + p.Why + ")"
		return s.giveUp(ctx, c, ending{state: Skipped, detail: why}, &NotSentError{Preflight: p, Cause: sub.cause()})
	}
	if !c.request.allowsCopy(sub) {
		why := "it was found meanwhile that it may be a copy of another message; nothing was sent"
		return s.giveUp(ctx, c, ending{state: Skipped, detail: why}, &PossibleCopyError{Preflight: p})
	}
	parcel, err := s.pack(ctx, c)
	if err != nil {
		return s.giveUp(ctx, c, ending{state: Blocked, detail: "the stored life could not be read; nothing was sent"}, err)
	}
	if !c.request.agrees(parcel.Unit) {
		why := "what would be sent is not what was agreed to; nothing was sent"
		return s.giveUp(ctx, c, ending{state: Skipped, detail: why}, &NotAgreedError{p.with(parcel.Unit), parcel.Unit})
	}
	released, err := s.releaseKeys(ctx, c, sub)
	if err != nil {
		return s.giveUp(ctx, c, ending{state: Blocked, detail: err.Error(), released: released}, err)
	}
	end, err := s.publish(ctx, c, sub, p, parcel, released)
	if err != nil {
		return s.giveUp(ctx, c, end, err)
	}
	return s.record(ctx, c, end), nil
}

// publish does steps 5 and 6. It returns an error only where nothing was sent
// and the caller has to be told why.
func (s *Service) publish(ctx context.Context, c claim, sub subject, p Preflight, l parcel, released []ReleasedKey) (ending, error) {
	end := ending{state: Blocked, released: released}
	b, err := s.broker(sub.plan)
	if err != nil {
		end.detail = err.Error()
		return end, err
	}
	d := p.Destination
	if d.Route == RouteReplayExchange {
		if d.Exchange, err = b.BindReplayExchange(ctx, d.Queue, d.RoutingKey); err != nil {
			end.detail = "the replay exchange could not be made; nothing was sent: " + err.Error()
			return end, nil
		}
	}
	if err := s.prepare(ctx, c, d, p.Verdict, l, evidenceJSON(sub.evidence, released), releasedJSON(released)); err != nil {
		end.detail = "the claim was lost before the message was sent"
		return end, err
	}
	bound, cancel := context.WithTimeout(ctx, s.publishBound())
	defer cancel()
	err = b.Publish(bound, compose(l.Unit, c.round, d, c.id.String(), c.replayID))
	end.state, end.detail = fate(err)
	return end, nil
}

// publishBound is how long one publish may take: less than the lease, so that
// nobody takes the attempt for abandoned while its message is under way.
func (s *Service) publishBound() time.Duration { return s.lease / 2 }

// fate turns what the publisher said into an attempt's state. What it cannot
// place is unknown: never "failed, safe to retry".
func fate(err error) (AttemptState, string) {
	switch {
	case err == nil:
		return Sent, ""
	case errors.Is(err, rabbit.ErrUnknown):
		return AttemptUnknown, "the broker did not say whether it took the message: " + err.Error()
	case errors.Is(err, rabbit.ErrReturned):
		return Returned, "the broker found no queue for it: " + err.Error()
	case errors.Is(err, rabbit.ErrRefused):
		return Refused, "the broker refused it: " + err.Error()
	case errors.Is(err, rabbit.ErrBlocked), errors.Is(err, rabbit.ErrUnavailable):
		return Blocked, "nothing was sent: " + err.Error()
	}
	return AttemptUnknown, "not known whether it was sent: " + err.Error()
}

// Package guard is the consumer's side of idempotent consumption from
// RabbitMQ: it takes deliveries, asks an idempotency key in Redis whether the
// work is new, runs a handler, and acknowledges only what is certain.
//
// Delivery is at least once, so a handler is called again for work that was
// done: after a crash, after a lost acknowledgement, when a producer sends
// twice. Three guards together stop a second effect. This package is the
// first, the key. The second (a compare-and-set on the state of the order) and
// the third (a unique index where the effect is written) belong to the
// handler's own transaction; they tell their answer with [Duplicate] and
// [Refused]. The key alone is not enough: it can expire, be evicted, or be
// released by a run that failed after its effect.
//
// # The five branches
//
// Every delivery ends in exactly one of these:
//
//   - success: the key is marked, then the delivery is acked;
//   - duplicate (the key says done): acked, the handler is not called;
//   - failure: a copy goes to the ladder's next tier, or to the terminal
//     address at the last run, confirmed and routed; then the key is released;
//     then the delivery is acked;
//   - Redis unavailable: consumption pauses (FailClosed), or the handler runs
//     without the key (FailOpen);
//   - key held by another, unfinished run: the ladder, never an ack. Acking it
//     is how a payment vanishes when the other run was killed.
//
// A process that dies loses nothing: its deliveries come back from the broker
// and its keys stay behind, to be met by the redelivery as held by another run.
//
// # Errors of a handler
//
// Any error is retryable unless it is marked with [Unrecoverable] or made by
// [Refused]; those go to the terminal address at once. A panic is a retryable
// failure. The runs that failed are counted in the header x-retry-count, which
// only this package changes: the broker's x-death is not a count of runs.
//
// # Limits
//
// The package does not declare queues or exchanges. When the broker's
// connection is lost between the publish of a copy and its confirm, the copy
// may be there twice; the guards see to it that this has no second effect.
// A copy is published persistent, and without what would make the broker
// refuse it, expire it or send it elsewhere too: user_id, expiration, CC, BCC
// and the delivery counters of quorum queues.
//
// The Redis client should have ContextTimeoutEnabled set, so that a Redis that
// hangs is noticed within the time that [Options] allows.
package guard

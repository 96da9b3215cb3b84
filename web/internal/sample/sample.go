// Package sample is a console full of fixed data: dead letters in every state,
// keys, replays and sources, in memory. The storybook shows the pages with it
// and the tests of package web walk them. It knows no rule of the domain; what
// an act leads to is written down here as the answer.
package sample

import (
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// Now is the moment at which all sample data is looked at.
var Now = time.Date(2026, 9, 28, 3, 13, 7, 0, time.FixedZone("", 8*3600))

// Hostile is what a producer who means harm puts wherever it can.
const Hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>' {{.}} ${x}`

// Ids of the sample messages, one for each situation.
const (
	StaleID       = "0199a1b2-0000-7000-8000-000000000001"
	WillRunID     = "0199a1b2-0000-7000-8000-000000000002"
	NoKeyID       = "0199a1b2-0000-7000-8000-000000000003"
	ReplayedID    = "0199a1b2-0000-7000-8000-000000000004"
	ResolvedID    = "0199a1b2-0000-7000-8000-000000000005"
	DiscardedID   = "0199a1b2-0000-7000-8000-000000000006"
	QuarantinedID = "0199a1b2-0000-7000-8000-000000000007"
	UnknownID     = "0199a1b2-0000-7000-8000-000000000008"
	HostileID     = "0199a1b2-0000-7000-8000-000000000009"
	RefusedID     = "0199a1b2-0000-7000-8000-00000000000a"
	ExpiredID     = "0199a1b2-0000-7000-8000-00000000000b"
	BinaryID      = "0199a1b2-0000-7000-8000-00000000000c"
	UnreadID      = "0199a1b2-0000-7000-8000-00000000000d"
	EnvelopeID    = "0199a1b2-0000-7000-8000-0000000000e1" // an envelope of EasyNetQ
	EditedID      = "0199a1b2-0000-7000-8000-0000000000e2" // of Dramatiq: a replay edits its body
	DoneID        = "0199a1b2-0000-7000-8000-00000000000e" // the work is done, and its key was left behind
	CopyID        = "0199a1b2-0000-7000-8000-00000000000f" // may be a copy of WillRunID
)

// Spaces are the sample key spaces.
var Spaces = []keys.Space{
	{Name: "pay-success", Pattern: "mq:consumed:pay_success:{business_key}", Style: keys.Flag, TTL: 24 * time.Hour, StuckAfter: 5 * time.Minute},
	{Name: "order-callback", Pattern: "msg:idempotent:{business_key}", Style: keys.Hash, TTL: 10 * time.Minute, StuckAfter: 5 * time.Minute, FailedRetakes: true},
	{Name: "refund", Pattern: "idempotent:msg:{business_key}", Style: keys.Status, TTL: 10 * time.Minute, StuckAfter: 5 * time.Minute},
	{Name: "gateway-lock", Pattern: "mq:lock:{business_key}", Style: keys.Lock, StuckAfter: 10 * time.Minute},
}

// Effective is a configuration as the Sources page shows it.
const Effective = `server:
  listen: 127.0.0.1:8080
brokers:
  - name: pay
    url: amqp://dlo:***@broker:5672/pay
sources:
  - name: pay-success
    queue: q.pay.dlx.terminal
`

func ago(d time.Duration) time.Time { return Now.Add(-d) }

// person is who did the sample acts.
const person = "wei"

var looks = map[string]situation{
	StaleID: {
		business: "P20260928001", state: dlq.Open, died: 21 * time.Minute, failure: timeout, verdict: replay.StaleKey, why: replay.WhyHeldStale,
		key: keys.Held, keyAge: 22 * time.Minute, after: replay.WillRun, order: "INIT",
	},
	WillRunID: {business: "P20260928389", state: dlq.Open, died: 4 * time.Minute, failure: timeout, verdict: replay.WillRun, why: replay.WhyAbsent, key: keys.Absent, order: "INIT"},
	NoKeyID:   {state: dlq.Open, died: 3 * time.Hour, reason: dlq.Expired, verdict: replay.NoKey, why: replay.WhyNoBusinessKey, source: "order-callback"},
	ReplayedID: {
		business: "P20260928377", state: dlq.Replayed, died: 6 * time.Minute, failure: timeout, verdict: replay.WillRun, why: replay.WhyAbsent, key: keys.Processing,
		keyAge: time.Minute, order: "INIT", attempts: []replay.Item{{ReplayID: 82, Attempt: replay.Sent, Outcome: replay.Awaited}},
	},
	ResolvedID: {
		business: "P20260928310", state: dlq.Resolved, died: time.Hour, failure: timeout, verdict: replay.AlreadyEffected, why: replay.WhyEffectAndState,
		key: keys.Succeeded, order: "PAID", effect: true,
		attempts: []replay.Item{{ReplayID: 81, Attempt: replay.Sent, Outcome: replay.Processed, OutcomeSource: replay.FromReport}},
	},
	DiscardedID: {
		business: "P20260928204", lives: 45, state: dlq.Discarded, died: 5 * time.Hour, failure: balance, verdict: replay.WillRun, why: replay.WhyAbsent, key: keys.Absent, order: "INIT",
		attempts: []replay.Item{{ReplayID: 83, Attempt: replay.Sent, Outcome: replay.DeadAgain, OutcomeSource: replay.FromDeadLetter, Detail: replay.DetailBackDead}},
	},
	QuarantinedID: {state: dlq.Open, died: 2 * time.Hour, verdict: replay.NoKey, why: replay.WhyNoBusinessKey, quarantine: "the header frame could not be decoded"},
	UnknownID: {
		business: "P20260928166", state: dlq.Replaying, died: 40 * time.Minute, failure: timeout, verdict: replay.WillRun, why: replay.WhyAbsent, key: keys.Absent, order: "INIT",
		attempts: []replay.Item{{ReplayID: 80, Attempt: replay.AttemptUnknown, Detail: "connection reset by peer"}},
	},
	HostileID: {
		business: Hostile, state: dlq.Open, died: 9 * time.Minute, failure: dlq.Failure{Type: Hostile, Message: Hostile, Stack: Hostile + "\n\tat evil", Extractor: "spring"},
		verdict: replay.StaleKey, why: replay.WhyHeldStale, key: keys.Held, keyAge: time.Hour, after: replay.WillRun, order: Hostile, queue: Hostile, quarantine: "",
		attempts: []replay.Item{{ReplayID: 79, Attempt: replay.Returned, Detail: Hostile}},
	},
	RefusedID: {business: "P20260928118", state: dlq.Open, died: 14 * time.Minute, failure: illegal, verdict: replay.RefusedByState, why: replay.WhyStateOther, key: keys.Absent, order: "REFUNDED"},
	ExpiredID: {business: "C20260928013", state: dlq.Open, died: 2 * time.Hour, reason: dlq.Expired, verdict: replay.InProgress, why: replay.WhyProcessingYoung, key: keys.Processing, keyAge: time.Minute, order: "INIT", source: "order-callback"},
	BinaryID:  {business: "C20260928022", state: dlq.Open, died: 9 * time.Minute, failure: signature, verdict: replay.WillSkip, why: replay.WhySucceeded, key: keys.Succeeded, source: "order-callback", body: "\x00\x01\xff binary \x7f"},
	DoneID: {
		business: "P20260928402", state: dlq.Open, died: 8 * time.Minute, failure: timeout, verdict: replay.AlreadyEffected, why: replay.WhyEffectAndState,
		key: keys.Processing, keyAge: 20 * time.Minute, order: "PAID", effect: true,
	},
	CopyID: {
		business: "P20260928389", state: dlq.Open, died: 4*time.Minute + time.Second, failure: timeout, verdict: replay.WillRun, why: replay.WhyAbsent,
		key: keys.Absent, order: "INIT", twin: true,
	},
	UnreadID: {business: "P20260928364", state: dlq.Open, died: 7 * time.Minute, failure: timeout, unavailable: true},
}

var (
	timeout = dlq.Failure{Type: "demo.pay.BankTimeout", Message: "Harbour Bank gave no answer in 10 s", Extractor: "spring", Stack: `demo.pay.BankTimeout: Harbour Bank gave no answer in 10 s
	at demo.pay.bank.HarbourClient.deduct(HarbourClient.java:118)
	at demo.pay.PayService.settle(PayService.java:74)
	at demo.pay.PaySuccessConsumer.onMessage(PaySuccessConsumer.java:41)`}
	balance   = dlq.Failure{Type: "AccountBalanceLow", Message: "312.40 available, 799.00 needed", Extractor: "guard"}
	illegal   = dlq.Failure{Type: "IllegalOrderStatus", Message: "order is REFUNDED", Extractor: "guard"}
	signature = dlq.Failure{Type: "BadSignature", Message: "callback of Northgate Bank, key id ng-2026-09", Extractor: "guard"}
)

// situation is one sample message and what a replay of it would meet.
type situation struct {
	business, source, queue, quarantine, order, body string
	state                                            dlq.State
	died, keyAge                                     time.Duration
	failure                                          dlq.Failure
	reason                                           dlq.Reason
	verdict, after                                   replay.Verdict
	why                                              string
	key                                              keys.State
	effect, twin, unavailable                        bool
	lives                                            int // 0: one, or two where it died again
	attempts                                         []replay.Item
	origin                                           *dlq.Origin // an operator's word
}

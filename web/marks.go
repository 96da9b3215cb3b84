package web

import (
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// htmxConfig keeps htmx within the Content-Security-Policy: no style of its
// own, no eval, no script from an answer, no request to elsewhere.
const htmxConfig = `{"includeIndicatorStyles":false,"allowEval":false,"allowScriptTags":false,"selfRequestsOnly":true,"historyEnabled":false}`

// mark is a state as the pages show it: colour never stands alone.
type mark struct {
	Icon, Tone, Text string
}

// emptyState stands where a list would.
type emptyState struct {
	Icon, Tone, Head string
	Text             sentence
	Acts             []button
}

// button is a link that acts.
type button struct {
	Text, Href, Icon, Title string
}

type look struct{ icon, tone string }

func (w words) mark(family, word string, l look) mark {
	if l.icon == "" {
		l = look{"unknown", "violet"}
	}
	return mark{l.icon, l.tone, w.of(family, word)}
}

var stateLooks = map[dlq.State]look{
	dlq.Open:      {"open", "amber"},
	dlq.Replaying: {"replaying", "blue"},
	dlq.Replayed:  {"replayed", "blue"},
	dlq.Resolved:  {"check", "green"},
	dlq.Discarded: {"dash", "grey"},
}

func (w words) state(m dlq.Message) mark {
	if m.State == dlq.Open && m.Quarantine != "" {
		return mark{"warn", "violet", w.T("state.quarantined")}
	}
	return w.mark("state", string(m.State), stateLooks[m.State])
}

var verdictLooks = map[replay.Verdict]look{
	replay.Unknown:         {"unknown", "violet"},
	replay.NoKey:           {"nokey", "amber"},
	replay.AlreadyEffected: {"check", "grey"},
	replay.Inconsistent:    {"warn", "red"},
	replay.RefusedByState:  {"no", "red"},
	replay.WillRun:         {"play", "green"},
	replay.InProgress:      {"clock", "blue"},
	replay.StaleKey:        {"key", "amber"},
	replay.WillSkip:        {"dup", "grey"},
	replay.Unproven:        {"key", "amber"},
}

func (w words) verdict(v replay.Verdict) mark {
	return w.mark("verdict", string(v), verdictLooks[v])
}

var attemptLooks = map[replay.AttemptState]look{
	replay.Waiting:        {"clock", "blue"},
	replay.Sent:           {"replayed", "blue"},
	replay.Skipped:        {"dash", "grey"},
	replay.Blocked:        {"pause", "amber"},
	replay.Returned:       {"replay", "red"},
	replay.Refused:        {"no", "red"},
	replay.AttemptUnknown: {"unknown", "violet"},
}

var outcomeLooks = map[replay.Outcome]look{
	replay.Awaited:      {"clock", "blue"},
	replay.Processed:    {"check", "green"},
	replay.Duplicate:    {"dup", "grey"},
	replay.GuardRefused: {"no", "red"},
	replay.DeadAgain:    {"x", "red"},
	replay.Unconfirmed:  {"unknown", "violet"},
}

func (w words) attempt(a replay.AttemptState) mark {
	return w.mark("attempt", string(a), attemptLooks[a])
}

func (w words) outcome(o replay.Outcome) mark {
	return w.mark("outcome", string(o), outcomeLooks[o])
}

var sourceLooks = map[dlq.SourceState]look{
	dlq.SourceUp:      {"check", "green"},
	dlq.SourcePaused:  {"pause", "amber"},
	dlq.SourceBlocked: {"warn", "amber"},
	dlq.SourceDown:    {"x", "red"},
	dlq.SourceMissing: {"unknown", "red"},
}

func (w words) sourceState(s dlq.SourceState) mark {
	return w.mark("source", string(s), sourceLooks[s])
}

var keyLooks = map[keys.State]look{
	keys.Absent:     {"dash", "grey"},
	keys.Processing: {"clock", "blue"},
	keys.Succeeded:  {"check", "green"},
	keys.Failed:     {"x", "red"},
	keys.Held:       {"key", "grey"},
	keys.Unreadable: {"unknown", "violet"},
}

func (w words) keyState(s keys.State) mark {
	return w.mark("key", string(s), keyLooks[s])
}

var saysLooks = map[string]look{
	replay.SaysPasses:   {"check", "green"},
	replay.SaysBlocks:   {"key", "amber"},
	replay.SaysSkips:    {"dup", "grey"},
	replay.SaysRefuses:  {"no", "red"},
	replay.SaysUnproven: {"key", "amber"},
	replay.SaysUnknown:  {"unknown", "violet"},
}

// stopping reports that a guard with this answer ends the message's way.
func stopping(says string) bool { return says != replay.SaysPasses }

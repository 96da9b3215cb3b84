package web

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// preflighter says what a replay will meet.
type preflighter interface {
	Preflight(ctx context.Context, messageID string, route replay.Route) (replay.Preflight, error)
}

// meetPanel is what a replay will meet: the verdict in words, then the way of
// the message through the guards, then what each act leads to. It promises no
// more than the guards said: whether the work then succeeds, they do not know.
type meetPanel struct {
	ReadAt      stamp
	Again       string // reads it again
	Verdict     mark
	Text        string
	Why         string
	Destination destinationText
	Guards      []guardStep
	Fates       []fate
	Copy        string   // that it may be a copy
	Newer       []button // later messages of the same business key that succeeded
}

type destinationText struct {
	Head     sentence
	Proof    string
	By       sentence
	Unacked  string // how many deliveries its consumers hold, where that is known
	Warnings []string
}

// guardStep is one guard on the rail.
type guardStep struct {
	Mark  mark
	Head  string
	Says  string
	Stops bool
	What  sentence
	TTL   *ttlBar
	Life  string
	Why   string
}

// ttlBar draws how much of a key's life is left.
type ttlBar struct {
	Total, Left int64 // seconds
	Label       string
}

type fate struct {
	Act  string
	Mark mark
}

func (s *Server) meet(f frame, p replay.Preflight, failure string) *meetPanel {
	m := &meetPanel{
		ReadAt: f.ago(p.ReadAt), Again: f.Here, Verdict: f.verdict(p.Verdict),
		Text: f.verdictText(p, failure), Why: f.of("why", p.Why),
		Destination: f.destination(p.Destination),
	}
	if p.Unacked != nil {
		m.Destination.Unacked = f.N("destination.unacked", *p.Unacked)
	}
	m.Guards = s.guardSteps(f, p.Guards)
	if slices.ContainsFunc(m.Guards, func(g guardStep) bool { return g.Why == m.Why }) {
		m.Why = "" // the guard says so already
	}
	m.Fates = f.fates(p)
	if p.PossibleCopy {
		m.Copy = f.T("copies.warning")
	}
	for _, id := range p.NewerSucceeded {
		m.Newer = append(m.Newer, button{Text: id, Href: f.message(id)})
	}
	return m
}

// guardSteps are the guards in their order; the first that stops the message is
// marked, and what two of them say alike is said once.
func (s *Server) guardSteps(f frame, guards []replay.GuardAnswer) []guardStep {
	steps := make([]guardStep, len(guards))
	stops, said := false, map[string]bool{}
	for i, g := range guards {
		step := s.guardStep(f, i+1, g)
		step.Stops = !stops && stopping(g.Says)
		stops = stops || step.Stops
		if said[step.Why] {
			step.Why = ""
		}
		said[step.Why] = true
		steps[i] = step
	}
	return steps
}

func (f frame) destination(d replay.Destination) destinationText {
	t := destinationText{Proof: f.of("destination", d.Why)}
	if d.Queue == "" {
		t.Head = plain(f.T("destination.unknown"))
	} else {
		t.Head = f.S("destination.queue", "Queue", code(d.Queue))
	}
	switch {
	case d.Queue == "":
	case d.Exchange == "":
		t.By = f.S("destination.default_exchange", "Key", code(d.RoutingKey))
	default:
		t.By = f.S("destination.by", "Exchange", code(d.Exchange), "Key", code(d.RoutingKey))
	}
	for _, w := range d.Warnings {
		t.Warnings = append(t.Warnings, f.of("destination_warning", w))
	}
	return t
}

func (s *Server) guardStep(f frame, n int, g replay.GuardAnswer) guardStep {
	step := guardStep{
		Mark: f.mark("says", g.Says, saysLooks[g.Says]),
		Head: number(int64(n)) + " " + f.guardName(g),
		What: f.guardFound(g),
		Why:  f.of("why", g.Evidence),
	}
	step.Says = step.Mark.Text
	if g.Problem != "" {
		step.Why = g.Problem
	}
	if g.Age != nil {
		step.Says = f.T("guard.since", "Says", step.Says, "Age", f.span(*g.Age))
	}
	if g.TTL == nil {
		if g.Kind == "key" && g.State != string(keys.Absent) && g.Key != "" && g.State != "" {
			step.Life = f.T("guard.no_expiry")
		}
		return step
	}
	step.Life = f.T("guard.frees_itself", "Span", f.span(*g.TTL))
	if g.AgeSource != "" {
		step.Life += " " + f.of("age_source", g.AgeSource)
	}
	if space, ok := s.spaceOf(g.Key); ok && space.TTL > 0 {
		step.TTL = f.ttl(space.TTL, *g.TTL)
	}
	return step
}

func (f frame) ttl(total, left time.Duration) *ttlBar {
	left = min(max(left, 0), total)
	return &ttlBar{
		Total: int64(total / time.Second), Left: max(int64(left/time.Second), int64(total/time.Second)/40),
		Label: f.T("guard.ttl_of", "Left", f.span(left), "Total", f.span(total)),
	}
}

func (s *Server) spaceOf(key string) (keys.Space, bool) {
	for _, space := range s.Spaces {
		if _, ok := space.BusinessKeyOf(key); ok {
			return space, true
		}
	}
	return keys.Space{}, false
}

func (f frame) guardName(g replay.GuardAnswer) string {
	if g.Kind == "key" || g.Name == "" {
		return f.of("guard", g.Kind)
	}
	return strings.ToUpper(g.Name[:1]) + g.Name[1:]
}

// guardFound is what was read: the key, the row.
func (f frame) guardFound(g replay.GuardAnswer) sentence {
	switch {
	case g.Key != "" && g.State != "":
		return f.S("guard.key_found", "Key", piece{"a", g.Key, f.key(g.Key)}, "State", f.of("key", g.State))
	case g.Key != "":
		return sentence{{"a", g.Key, f.key(g.Key)}}
	case g.State != "":
		return f.S("guard.state_found", "State", code(g.State))
	}
	return nil
}

// verdictText is the sentence of the verdict, with what makes it this
// message's own: failure, which killed it, and whether a probe was asked.
func (f frame) verdictText(p replay.Preflight, failure string) string {
	id := "verdict." + string(p.Verdict) + ".text"
	switch {
	case p.Verdict == replay.WillRun && failure != "":
		return f.T(id+"_by", "Failure", failure)
	case p.Verdict == replay.StaleKey && slices.ContainsFunc(p.Guards, saysUndone):
		return f.T(id + "_undone")
	}
	return f.T(id)
}

// saysUndone reports that g is a probe which found that nothing was done.
func saysUndone(g replay.GuardAnswer) bool {
	return g.Kind != replay.KindKey && g.Says == replay.SaysPasses
}

// fates say what each act leads to.
func (f frame) fates(p replay.Preflight) []fate {
	as := fate{f.T("fate.as_it_is"), f.fateMark(p.Verdict, p.Guards)}
	if len(p.Releasable) == 0 || p.AfterRelease == "" {
		return []fate{as}
	}
	released := fate{f.T("fate.released"), f.fateMark(p.AfterRelease, guardsAfterRelease(p))}
	if released.Mark == as.Mark {
		return []fate{as}
	}
	return []fate{as, released}
}

// fateMark is what becomes of a message with the verdict v at these guards.
func (f frame) fateMark(v replay.Verdict, guards []replay.GuardAnswer) mark {
	m := f.verdict(v)
	m.Text = f.fate(v, guards)
	if g, stopped := firstStop(guards); stopped && fateID(v, guards) != string(v) {
		m.Icon, m.Tone = saysLooks[g.Says].icon, saysLooks[g.Says].tone
	}
	return m
}

func (f frame) fate(v replay.Verdict, guards []replay.GuardAnswer) string {
	return f.T("fate." + fateID(v, guards))
}

// fateID returns the text for what becomes of a message. The business database
// decides the verdict, and yet the key is asked first: where it stops the
// message, the others are never reached.
func fateID(v replay.Verdict, guards []replay.GuardAnswer) string {
	g, stopped := firstStop(guards)
	if !stopped || g.Kind != replay.KindKey {
		return string(v)
	}
	switch {
	case v == replay.AlreadyEffected, v == replay.RefusedByState:
		return string(v) + "." + g.Says
	case v == replay.StaleKey && g.State == string(keys.Held):
		return string(v) + ".held"
	}
	return string(v)
}

// firstStop returns the guard at which the message's way ends.
func firstStop(guards []replay.GuardAnswer) (replay.GuardAnswer, bool) {
	i := slices.IndexFunc(guards, func(g replay.GuardAnswer) bool { return stopping(g.Says) })
	if i < 0 {
		return replay.GuardAnswer{}, false
	}
	return guards[i], true
}

// guardsAfterRelease are the guards without the keys that a release takes away.
func guardsAfterRelease(p replay.Preflight) []replay.GuardAnswer {
	return slices.DeleteFunc(slices.Clone(p.Guards), func(g replay.GuardAnswer) bool {
		return slices.ContainsFunc(p.Releasable, func(k keys.Key) bool { return k.Name == g.Key })
	})
}

package web

import (
	"slices"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// journeyStep is one place that the message passed.
type journeyStep struct {
	Icon, Tone, Wait, Name string
	At                     stamp
}

// maxJourney bounds how many steps are drawn.
const maxJourney = 9

// journey tells the way of the current life: from its exchange over the queues
// in which it died to the terminal queue and into the store.
func (p *messagePage) journey(m dlq.Message, l dlq.Life) {
	exchange := p.T("journey.unknown_exchange")
	if l.Original.Exchange != nil {
		exchange = *l.Original.Exchange
		if exchange == "" {
			exchange = p.T("journey.default_exchange")
		}
	}
	p.Journey = []journeyStep{{Icon: "dot", Name: exchange}}
	if l.ReplayID != 0 {
		p.Journey = []journeyStep{{Icon: "replay", Tone: "blue", Name: p.T("life.of_replay", "ID", l.ReplayID)}}
	}
	deaths := p.deaths(l)
	if queue := l.Original.Queue; queue != "" && !slices.ContainsFunc(deaths, func(s journeyStep) bool { return s.Name == queue }) {
		// A consumer that climbs its ladder by itself leaves no trace of its own
		// queue with the broker.
		first := journeyStep{Icon: "x", Tone: "red", Name: queue, Wait: p.tries(l)}
		if len(deaths) == 0 {
			first.At = p.at(l.FirstDiedAt)
		}
		deaths = append([]journeyStep{first}, deaths...)
	}
	if more := len(deaths) - maxJourney + 3; more > 0 {
		deaths = append([]journeyStep{{Icon: "more", Name: p.N("journey.more", int64(more))}}, deaths[more:]...)
	}
	p.Journey = append(p.Journey, deaths...)
	terminal := journeyStep{Icon: "inbox", Name: p.T("journey.terminal")}
	if l.DiedAtKnown {
		terminal.At = p.at(l.DiedAt)
	}
	now := p.state(m)
	drained := journeyStep{Icon: now.Icon, Tone: now.Tone, Name: p.T("journey.drained"), At: p.at(l.DrainedAt)}
	p.Journey = append(p.Journey, terminal, drained)
	if took := l.DrainedAt.Sub(l.FirstDiedAt); !l.FirstDiedAt.IsZero() && took > 0 {
		p.Lasted = p.T("journey.lasted", "Span", p.span(took))
	}
}

func (p *messagePage) tries(l dlq.Life) string {
	switch n := l.RetryCount; {
	case n == nil || *n == 0:
		return ""
	case countsRuns(l):
		return p.N("journey.runs", *n)
	default:
		return p.N("journey.tries", *n)
	}
}

// deaths reads the broker's history, oldest first, for the drawing only: what
// it means was worked out when the message was drained.
func (p *messagePage) deaths(l dlq.Life) []journeyStep {
	entries, _ := l.Headers["x-death"].([]any)
	var steps []journeyStep
	for i := len(entries) - 1; i >= 0 && len(steps) < 100; i-- {
		entry, ok := entries[i].(rabbit.Table)
		if !ok {
			continue
		}
		name, _ := entry["queue"].(string)
		reason, _ := entry["reason"].(string)
		count, _ := entry["count"].(int64)
		at, _ := entry["time"].(time.Time)
		step := journeyStep{Icon: "x", Tone: "red", Name: name, Wait: p.of("reason", reason)}
		if reason == string(dlq.Expired) {
			step.Icon, step.Tone = "clock", "grey"
		}
		if count > 1 {
			step.Wait = p.T("journey.times", "What", step.Wait, "N", number(count))
		}
		if dlq.PossibleTime(at, l.DrainedAt) {
			step.At = p.at(at)
		}
		steps = append(steps, step)
	}
	return steps
}

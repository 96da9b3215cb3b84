package web

import (
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// acts offers what the message's state, the verdict and the reader's roles
// allow. The primary is what leads furthest without a doubt; what has to be
// agreed to first is offered beside it.
func (p *messagePage) acts(m dlq.Message, attempts []replay.Item, pre replay.Preflight, known bool) {
	release := button{Text: p.T("act.release_replay"), Href: p.to("messages", m.ID, "release"), Icon: "key", Title: p.T("act.release_replay_title")}
	again := button{Text: p.T("act.replay"), Href: p.to("messages", m.ID, "replay"), Icon: "replay", Title: p.T("act.replay_title")}
	settle := button{Text: p.T("act.settle"), Href: p.to("messages", m.ID, "settle"), Icon: "unknown"}
	switch {
	case unknownAttempt(m, attempts):
		if p.May("replay") {
			p.Primary = &settle
		}
	case inQuarantine(m) && p.May("replay"):
		p.Second = &button{Text: p.T("act.reimport"), Href: with(p.to("messages", "reimport"), "id", m.ID), Icon: "refresh"}
	case !replayable(m) || !p.May("replay"):
	case known && pre.Verdict == replay.AlreadyEffected && m.State == dlq.Open:
		again.Text = p.T("act.replay_as_it_is")
		p.Second = &again
		if p.May("discard") {
			p.First = &button{Text: p.T("act.discard_done"), Href: with(p.to("messages", "discard"), "id", m.ID), Icon: "archive"}
		}
	case known && len(pre.Releasable) > 0 && p.May("release") && !freeOnceReleased(pre):
		p.Second = &release // what is left has to be agreed to
	case known && len(pre.Releasable) > 0 && p.May("release"):
		p.Primary = &release
		if pre.Consent != replay.SentReleased {
			again.Text = p.T("act.replay_as_it_is")
			p.Second = &again
		}
	case known && pre.Consent == replay.SentFreely && m.State == dlq.Open:
		p.Primary = &again
	default:
		p.Second = &again
	}
	p.Menu = append(p.Menu, button{Text: p.T("act.note"), Href: "#notes", Icon: "note"})
	p.Menu = append(p.Menu, button{Text: p.T("body.download"), Href: p.to("messages", m.ID, "body"), Icon: "export"})
	if !p.May("discard") {
		return
	}
	switch m.State {
	case dlq.Open:
		p.Menu = append(p.Menu, button{Text: p.T("act.discard", "Name", p.Name), Href: with(p.to("messages", "discard"), "id", m.ID), Icon: "archive", Title: "danger"})
	case dlq.Discarded:
		restore := button{Text: p.T("act.restore", "Name", p.Name), Href: with(p.to("messages", "restore"), "id", m.ID), Icon: "refresh"}
		p.Second = &restore
	}
}

// freeOnceReleased reports that nothing is left to agree to once the releasable
// keys are gone.
func freeOnceReleased(pre replay.Preflight) bool {
	return replay.ConsentFor(pre.AfterRelease) == replay.SentFreely && !pre.PossibleCopy && len(pre.Unit.Consents) == 0
}

// replayable reports that a replay may be asked for: an open message, or one
// that was resolved, which the verdict then asks an override for.
func replayable(m dlq.Message) bool {
	return m.Quarantine == "" && m.State == dlq.Open || m.State == dlq.Resolved
}

func unknownAttempt(m dlq.Message, attempts []replay.Item) bool {
	return m.State == dlq.Replaying && len(attempts) > 0 && attempts[0].Attempt == replay.AttemptUnknown
}

// notices say above the page what must not be missed.
func (p *messagePage) notices(m dlq.Message, attempts []replay.Item) {
	say := func(tone, icon, id string, lines ...sentence) {
		p.Notices = append(p.Notices, flash{tone, icon, plain(p.T(id)), append([]sentence{plain(p.T(id + "_text"))}, lines...)})
	}
	if unknownAttempt(m, attempts) {
		say("violet", "unknown", "notice.unknown")
	}
	if m.Quarantine != "" {
		say("violet", "warn", "notice.quarantine", plain(m.Quarantine), sentence{linked(p.T("quarantine.see"), "#quarantine")})
	}
	if m.PossibleCopy {
		say("amber", "dup", "notice.possible_copy", sentence{linked(p.T("copies.see"), "#copies")})
	}
	if m.State == dlq.Open && len(attempts) > 0 && attempts[0].Outcome == replay.Duplicate {
		say("red", "dup", "notice.duplicate_without_effect")
	}
}

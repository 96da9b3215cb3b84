package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

// The verdict is the business database's, the prediction is the first guard's
// that stops the message: the key is asked before the order.
func TestThePredictionIsWhatTheFirstStoppingGuardSays(t *testing.T) {
	t.Parallel()
	key := func(says string, state keys.State) replay.GuardAnswer {
		return replay.GuardAnswer{Kind: replay.KindKey, Key: "k", Says: says, State: string(state)}
	}
	state := func(says string) replay.GuardAnswer { return replay.GuardAnswer{Kind: replay.KindState, Says: says} }
	done, refused := state(replay.SaysSkips), state(replay.SaysRefuses)
	tests := []struct {
		name    string
		verdict replay.Verdict
		guards  []replay.GuardAnswer
		want    string
	}{
		{"done, its key was left behind", replay.AlreadyEffected, []replay.GuardAnswer{key(replay.SaysBlocks, keys.Processing), done}, "already_effected.blocks"},
		{"done, and so says its key", replay.AlreadyEffected, []replay.GuardAnswer{key(replay.SaysSkips, keys.Succeeded), done}, "already_effected.skips"},
		{"done, its key says no more than that it is held", replay.AlreadyEffected, []replay.GuardAnswer{key(replay.SaysUnproven, keys.Held), done}, "already_effected.unproven"},
		{"done, and no key", replay.AlreadyEffected, []replay.GuardAnswer{key(replay.SaysPasses, keys.Absent), done}, "already_effected"},
		{"done, and no key space", replay.AlreadyEffected, []replay.GuardAnswer{done}, "already_effected"},
		{"done, the second key was left behind", replay.AlreadyEffected, []replay.GuardAnswer{key(replay.SaysPasses, keys.Absent), key(replay.SaysBlocks, keys.Processing), done}, "already_effected.blocks"},
		{"refused, its key was left behind", replay.RefusedByState, []replay.GuardAnswer{key(replay.SaysBlocks, keys.Processing), refused}, "refused_by_state.blocks"},
		{"refused, its key says done", replay.RefusedByState, []replay.GuardAnswer{key(replay.SaysSkips, keys.Succeeded), refused}, "refused_by_state.skips"},
		{"refused, and no key", replay.RefusedByState, []replay.GuardAnswer{key(replay.SaysPasses, keys.Absent), refused}, "refused_by_state"},
		{"stale, a flag", replay.StaleKey, []replay.GuardAnswer{key(replay.SaysBlocks, keys.Held)}, "stale_key.held"},
		{"stale, a state", replay.StaleKey, []replay.GuardAnswer{key(replay.SaysBlocks, keys.Processing)}, "stale_key"},
		{"free", replay.WillRun, []replay.GuardAnswer{key(replay.SaysPasses, keys.Absent), state(replay.SaysPasses)}, "will_run"},
		{"nothing to ask", replay.NoKey, nil, "no_key"},
	}
	texts := rawTexts("en")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := fateID(tt.verdict, tt.guards); got != tt.want {
				t.Errorf("fate is %s, want %s", got, tt.want)
			}
			if texts["fate."+tt.want] == nil {
				t.Errorf("fate.%s has no text", tt.want)
			}
		})
	}
}

func TestWorkThatIsDoneBehindAHeldKeyIsNotPredictedToBeAcked(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	doc := page(t, o.get("/messages/"+sample.DoneID), http.StatusOK)
	wantText(t, doc, testid("preflight"), "Already effected The work is done already")
	wantText(t, doc, ".fates", "held back by the key and likely dead again; the work is done already")
	if got := text(doc, ".fates"); strings.Contains(got, "acked") {
		t.Errorf("the prediction says %q, though the key holds it back", got)
	}
	wantText(t, doc, testid("first-act"), "Discard, the work is done")
	wantNone(t, doc, testid("primary-act"))

	doc = page(t, o.get("/messages/"+sample.DoneID+"/replay"), http.StatusOK)
	wantText(t, doc, "label[for=override]", "held back by the key and likely dead again; the work is done already")
	if got := doc.Find(testid("instead")).AttrOr("href", ""); got != "/messages/discard?id="+sample.DoneID {
		t.Errorf("instead it offers %q", got)
	}
	doc = page(t, o.get("/messages/"+sample.ResolvedID), http.StatusOK)
	wantText(t, doc, ".fates", "acked as a duplicate: the work is done already")
}

func TestAReplayIsNotPromisedToDoTheWork(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for lang, want := range map[string]string{
		"en":    "Will run No guard stops it. Whether the work succeeds depends on what killed it: BankTimeout.",
		"zh-CN": "会执行 没有防线拦下它。业务能否成功，取决于当初的死因：BankTimeout。",
	} {
		doc := page(t, o.get("/messages/"+sample.WillRunID, "Cookie", "dlo_lang="+lang, "Accept-Language", lang), http.StatusOK)
		wantText(t, doc, testid("verdict"), want)
	}
	promise := []string{"do the work once", "will run, all", "执行一次业务"}
	for _, lang := range languages {
		for id, forms := range rawTexts(lang) {
			for _, form := range forms {
				for _, p := range promise {
					if strings.Contains(form, p) {
						t.Errorf("%s promises: %q", id, form)
					}
				}
			}
		}
	}
}

// Only a probe can say that nothing was done.
func TestAStaleKeyAloneDoesNotSayThatTheWorkWasNotDone(t *testing.T) {
	t.Parallel()
	f := newOffice(t).frame(newContext(t), "", "")
	key := replay.GuardAnswer{Kind: replay.KindKey, Says: replay.SaysBlocks, State: string(keys.Processing)}
	nothing := replay.GuardAnswer{Kind: replay.KindEffect, Says: replay.SaysPasses}
	for want, guards := range map[string][]replay.GuardAnswer{
		"Nothing here says whether its work was done.":            {key},
		"The business database shows that the work was not done.": {key, nothing},
	} {
		got := f.verdictText(replay.Preflight{Verdict: replay.StaleKey, Guards: guards}, "")
		if !strings.Contains(got, want) {
			t.Errorf("with %d guards it says %q, want %q", len(guards), got, want)
		}
	}
}

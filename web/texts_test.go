package web

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-d2bf649b/dead-letter-office/internal/auth"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// textFamilies are the first words of all ids.
var textFamilies = func() map[string]bool {
	families := map[string]bool{}
	for id := range rawTexts("en") {
		family, _, _ := strings.Cut(id, ".")
		families[family] = true
	}
	return families
}()

// rawTexts returns the forms of each text of a language.
func rawTexts(lang string) map[string][]string {
	src, err := textFiles.ReadFile("texts/" + lang + ".json")
	if err != nil {
		panic(err)
	}
	var raw map[string]any
	if err := json.Unmarshal(src, &raw); err != nil {
		panic(err)
	}
	texts := map[string][]string{}
	for id, v := range raw {
		switch v := v.(type) {
		case string:
			texts[id] = []string{v}
		case map[string]any:
			for _, form := range v {
				texts[id] = append(texts[id], form.(string))
			}
		}
	}
	return texts
}

var placeholder = regexp.MustCompile(`\{\{\.(\w+)\}\}|\{n\}`)

func placeholders(forms []string) []string {
	names := map[string]bool{}
	for _, form := range forms {
		for _, m := range placeholder.FindAllString(form, -1) {
			names[m] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func TestLanguagesHaveTheSameTextsAndPlaceholders(t *testing.T) {
	t.Parallel()
	en, zh := rawTexts("en"), rawTexts("zh-CN")
	if diff := cmp.Diff(slices.Sorted(maps.Keys(en)), slices.Sorted(maps.Keys(zh))); diff != "" {
		t.Errorf("ids (-en +zh):\n%s", diff)
	}
	for id := range en {
		if diff := cmp.Diff(placeholders(en[id]), placeholders(zh[id])); diff != "" {
			t.Errorf("placeholders of %s (-en +zh):\n%s", id, diff)
		}
		for _, form := range slices.Concat(en[id], zh[id]) {
			if strings.TrimSpace(form) == "" {
				t.Errorf("%s is empty", id)
			}
		}
	}
}

func TestChineseTextsAreChinese(t *testing.T) {
	t.Parallel()
	han := regexp.MustCompile(`\p{Han}`)
	halfWidth := regexp.MustCompile(`\p{Han}[,;:?!]|[,;?!]\p{Han}`)
	same := []string{"brand", "sources.broker", "keys.ttl", "guard.key_found", "figure.of_up"}
	for id, forms := range rawTexts("zh-CN") {
		for _, form := range forms {
			if !han.MatchString(form) && !slices.Contains(same, id) {
				t.Errorf("%s is %q", id, form)
			}
			if halfWidth.MatchString(form) {
				t.Errorf("%s has half-width marks: %q", id, form)
			}
		}
	}
}

// TestEveryWordOfAClosedListHasItsText takes the lists from the packages that
// own them; a list that grows fails here.
func TestEveryWordOfAClosedListHasItsText(t *testing.T) {
	t.Parallel()
	need := map[string][]string{
		"state": wordsOf(dlq.States), "reason": wordsOf(dlq.Reasons), "reason_text": wordsOf(dlq.Reasons),
		"extractor": dlq.Extractors(), "evidence": dlq.Evidences,
		"unit.edit": dlq.Edits, "unit.warn": dlq.UnitWarnings, "unit.consent": dlq.Consents, "unit.problem": {dlq.ProblemNoMessage},
		"retry_source":   {dlq.RetriesFromFramework, dlq.RetriesFromXDeath, dlq.RetriesFromDeliveryCount},
		"source":         wordsOf([]dlq.SourceState{dlq.SourceUp, dlq.SourcePaused, dlq.SourceBlocked, dlq.SourceDown, dlq.SourceMissing}),
		"wrong":          wordsOf([]dlq.SourceState{dlq.SourceBlocked, dlq.SourceDown, dlq.SourceMissing}),
		"source_warning": dlq.Warnings, "result": {dlq.ResultDone, dlq.ResultNotFound, dlq.ResultBadState},
		"verdict": wordsOf(replay.Verdicts), "fate": wordsOf(replay.Verdicts), "attempt": wordsOf(replay.AttemptStates), "outcome": wordsOf(replay.Outcomes),
		"attempt_says": wordsOf(replay.AttemptStates), "outcome_says": wordsOf(replay.Outcomes),
		"says":       {replay.SaysPasses, replay.SaysBlocks, replay.SaysSkips, replay.SaysRefuses, replay.SaysUnproven, replay.SaysUnknown},
		"guard":      {replay.KindKey, replay.KindState, replay.KindEffect},
		"key":        wordsOf([]keys.State{keys.Absent, keys.Processing, keys.Succeeded, keys.Failed, keys.Held, keys.Unreadable}),
		"keytext":    wordsOf([]keys.State{keys.Absent, keys.Processing, keys.Succeeded, keys.Failed, keys.Held, keys.Unreadable}),
		"style":      wordsOf([]keys.Style{keys.Flag, keys.Lock, keys.Status, keys.Hash}),
		"release":    wordsOf([]keys.ReleaseResult{keys.Released, keys.Gone, keys.Changed, keys.Reacquired, keys.Protected, keys.WrongType, keys.TooYoung}),
		"permission": wordsOf([]auth.Permission{auth.Read, auth.Note, auth.Discard, auth.Replay, auth.Release, auth.Operate, auth.Report}),
		"act_done":   constants(t, "../internal/audit", "Act"), "act_tried": constants(t, "../internal/audit", "Act"),
		"why": whys(t), "destination": constants(t, "../internal/replay", "WhyRoute"), "destination_warning": constants(t, "../internal/replay", "Warn"),
		"detail":         constants(t, "../internal/replay", "Detail"),
		"outcome_source": wordsOf([]replay.OutcomeSource{replay.FromReport, replay.FromDeadLetter, replay.FromKey, replay.FromProbe, replay.FromInferred, replay.FromTimeout}),
	}
	for _, f := range failures {
		need["problem"], need["error"] = append(need["problem"], f.code), append(need["error"], f.code)
	}
	for _, code := range []string{"internal", "forbidden", "unauthenticated", "database_unavailable", "bad_query", "bad_request", "invalid", "too_large", "method_not_allowed", "unsupported_media_type"} {
		need["problem"], need["error"] = append(need["problem"], code), append(need["error"], code)
	}
	suffixes := map[string][]string{
		"verdict": {"", ".text"}, "attempt_says": {"", ".text"}, "outcome_says": {"", ".text"}, "release": {"", ".head", ".text"}, "style": {"", ".tells"},
	}
	for _, lang := range languages {
		texts := rawTexts(lang)
		for family, list := range need {
			for _, word := range list {
				for _, suffix := range append(suffixes[family], "")[:max(1, len(suffixes[family]))] {
					if id := family + "." + word + suffix; texts[id] == nil {
						t.Errorf("%s: %s is missing", lang, id)
					}
				}
			}
		}
	}
}

func wordsOf[T ~string](list []T) []string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return words
}

func whys(t *testing.T) []string {
	t.Helper()
	routes := constants(t, "../internal/replay", "WhyRoute")
	return slices.DeleteFunc(constants(t, "../internal/replay", "Why"), func(w string) bool { return slices.Contains(routes, w) })
}

// constants returns the values of a package's string constants by how their
// names begin.
func constants(t *testing.T, dir, prefix string) []string {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^\s+(` + prefix + `[A-Z]\w*)\s*=\s*"([^"]+)"`)
	var values []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		src, err := os.ReadFile(dir + "/" + name)
		for _, m := range declared.FindAllStringSubmatch(string(src), -1) {
			values = append(values, m[2])
		}
		return err
	})
	if err != nil || len(values) == 0 {
		t.Fatalf("no constants %s… in %s: %v", prefix, dir, err)
	}
	return values
}

var usedText = regexp.MustCompile(`\.(?:T|N|S)\("([a-z0-9_.]*[a-z0-9_])"`)

func TestEveryTextThatIsAskedForIsThere(t *testing.T) {
	t.Parallel()
	texts := rawTexts("en")
	found := 0
	for name, src := range ownSources(t) {
		for _, m := range usedText.FindAllStringSubmatch(src, -1) {
			found++
			if texts[m[1]] == nil {
				t.Errorf("%s asks for %q, which is missing", name, m[1])
			}
		}
	}
	if found < 300 {
		t.Errorf("only %d texts are asked for: the pattern has gone blind", found)
	}
}

// ownSources returns this package's own sources, without tests and generated ones.
func ownSources(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".templ") || strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_templ.go") && !strings.HasSuffix(name, "_test.go") {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = string(src)
		}
	}
	return all
}

// bareWords finds letters between two tags of a templ file.
var bareWords = regexp.MustCompile(`>([^<>{}@]*\pL{2,}[^<>{}@]*)</`)

func TestTemplatesHaveNoWordsOfTheirOwn(t *testing.T) {
	t.Parallel()
	keyCaps := []string{"Enter", "sha-256"}
	for name, src := range ownSources(t) {
		if !strings.HasSuffix(name, ".templ") {
			continue
		}
		for _, m := range bareWords.FindAllStringSubmatch(src, -1) {
			if word := strings.TrimSpace(m[1]); !slices.Contains(keyCaps, word) && !strings.Contains(word, "\n\t") {
				t.Errorf("%s has %q outside the catalogue", name, word)
			}
		}
	}
}

func TestTheLanguageIsTheReadersChoiceElseTheBrowsers(t *testing.T) {
	t.Parallel()
	texts, err := loadCatalogue()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ chosen, accepted, want string }{
		{"", "", "en"},
		{"", "zh", "zh-CN"},
		{"", "zh-Hans-CN,zh;q=0.9", "zh-CN"},
		{"", "de,fr;q=0.5", "en"},
		{"zh-CN", "en", "zh-CN"},
		{"en", "zh-CN", "en"},
		{"klingon", "zh-CN", "zh-CN"},
		{"", "\x00;;;", "en"},
	} {
		if got := texts.match(tt.chosen, tt.accepted); got != tt.want {
			t.Errorf("match(%q, %q) = %q, want %q", tt.chosen, tt.accepted, got, tt.want)
		}
	}
}

func TestASentenceKeepsItsPiecesApart(t *testing.T) {
	t.Parallel()
	texts, err := loadCatalogue()
	if err != nil {
		t.Fatal(err)
	}
	got := texts.in("en").S("destination.by", "Exchange", code("{{.Key}}"), "Key", "a <b>")
	want := sentence{{Text: "by "}, code("{{.Key}}"), {Text: ", key "}, {Text: "a <b>"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sentence (-want +got):\n%s", diff)
	}
}

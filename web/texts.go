package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
)

//go:embed texts/*.json
var textFiles embed.FS

// languages that the console speaks; the first is the one for everybody else.
var languages = []string{"en", "zh-CN"}

// catalogue holds every text of the pages in every language.
type catalogue struct {
	bundle  *i18n.Bundle
	matcher language.Matcher
}

func loadCatalogue() (*catalogue, error) {
	bundle := i18n.NewBundle(language.English)
	bundle.RegisterUnmarshalFunc("json", json.Unmarshal)
	tags := make([]language.Tag, 0, len(languages))
	for _, lang := range languages {
		if _, err := bundle.LoadMessageFileFS(textFiles, "texts/"+lang+".json"); err != nil {
			return nil, fmt.Errorf("web: read texts of %s: %w", lang, err)
		}
		tags = append(tags, language.MustParse(lang))
	}
	return &catalogue{bundle, language.NewMatcher(tags)}, nil
}

// in returns the texts in lang, one of languages.
func (t *catalogue) in(lang string) words {
	return words{lang, i18n.NewLocalizer(t.bundle, lang)}
}

// match returns the language that fits best what the reader chose or, where
// nothing was chosen, what the browser accepts.
func (t *catalogue) match(chosen, accepted string) string {
	for _, lang := range languages {
		if chosen == lang {
			return lang
		}
	}
	tags, _, err := language.ParseAcceptLanguage(accepted)
	if err != nil {
		return languages[0]
	}
	_, index, _ := t.matcher.Match(tags...)
	return languages[index]
}

// words says texts in one language.
type words struct {
	Lang string
	loc  *i18n.Localizer
}

// T returns the text id with name, value pairs filled in. An id without a text
// is returned as it is; a test keeps that from happening.
func (w words) T(id string, pairs ...any) string {
	return w.localize(id, nil, pairs)
}

// N returns the text id in the form that n asks for; {{.N}} is n.
func (w words) N(id string, n int64, pairs ...any) string {
	return w.localize(id, n, append(slices.Clip(pairs), "N", number(n)))
}

func (w words) localize(id string, count any, pairs []any) string {
	data := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		data[pairs[i].(string)] = pairs[i+1]
	}
	text, err := w.loc.Localize(&i18n.LocalizeConfig{MessageID: id, TemplateData: data, PluralCount: count})
	if err != nil {
		return id
	}
	return text
}

// has reports that id has a text.
func (w words) has(id string) bool {
	_, err := w.loc.Localize(&i18n.LocalizeConfig{MessageID: id})
	return err == nil
}

// of returns the text of a word of a closed list, or the word itself where the
// list has grown and the catalogue has not.
func (w words) of(family, word string) string {
	if word == "" {
		return ""
	}
	if id := family + "." + word; w.has(id) {
		return w.T(id)
	}
	return strings.ReplaceAll(word, "_", " ")
}

// detail says the word of a closed list in words; anything else is what a
// broker or a consumer said, and stays as it is.
func (w words) detail(text string) string {
	if id := "detail." + text; w.has(id) {
		return w.T(id)
	}
	return text
}

// piece is a part of a sentence: plain text, code, strong words or a link.
type piece struct {
	Kind string // "", "code", "b" or "a"
	Text string
	Href string
}

func code(text string) piece       { return piece{"code", text, ""} }
func strong(text string) piece     { return piece{"b", text, ""} }
func linked(text, to string) piece { return piece{"a", text, to} }

// sentence is a text whose placeholders are pieces.
type sentence []piece

// S returns the text id as a sentence; pairs are name, value with values that
// are pieces or anything that prints.
func (w words) S(id string, pairs ...any) sentence { return w.sentence(id, nil, pairs) }

// SN is S in the form that n asks for; {{.N}} is n.
func (w words) SN(id string, n int64, pairs ...any) sentence {
	return w.sentence(id, n, append(slices.Clip(pairs), "N", number(n)))
}

func (w words) sentence(id string, count any, pairs []any) sentence {
	marks := make([]any, 0, len(pairs))
	pieces := map[string]piece{}
	for i := 0; i+1 < len(pairs); i += 2 {
		p, ok := pairs[i+1].(piece)
		if !ok {
			p = piece{Text: fmt.Sprint(pairs[i+1])}
		}
		mark := fmt.Sprintf("\x00%d\x00", i)
		pieces[mark] = p
		marks = append(marks, pairs[i], mark)
	}
	return split(w.localize(id, count, marks), pieces)
}

// split cuts text at the marks, which stand between NUL bytes.
func split(text string, pieces map[string]piece) sentence {
	var out sentence
	for i, part := range strings.Split(text, "\x00") {
		if i%2 == 1 {
			out = append(out, pieces["\x00"+part+"\x00"])
		} else if part != "" {
			out = append(out, piece{Text: part})
		}
	}
	return out
}

// plain is a sentence of one plain text.
func plain(text string) sentence { return sentence{{Text: text}} }

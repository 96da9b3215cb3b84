package dlq

import (
	"strings"
	"testing"
)

// foundInTree is what a path finds by the whole evaluation.
func foundInTree(body []byte, text string) string {
	p := compile(text)
	if p == nil {
		return ""
	}
	for _, node := range p.full.Select(parseJSON(body)) {
		if s := scalar(node); s != "" {
			return s
		}
	}
	return ""
}

func TestPathsOfNamesNeedNoTree(t *testing.T) {
	t.Parallel()
	for text, simple := range map[string]bool{
		"$.orderNo": true, "$.a.b.c": true, "$['order no'].x": true,
		"$": false, "$[0]": false, "$.a[1]": false, "$..a": false, "$.*": false, "$['a','b']": false, "$[?@.a]": false,
	} {
		if p := compile(text); (p.names != nil) != simple {
			t.Errorf("%s: names %q", text, p.names)
		}
	}
}

func TestDocumentFindsWhatTheTreeHas(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", maxJSONDepth-1) + strings.Repeat("]", maxJSONDepth-1)
	bodies := []string{
		`{"a":1}`, `{"a":1.50e+02}`, `{"a":-0}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":+1}`, `{"a":1e}`, `{"a":90071992547409931234}`,
		`{"a":1,"a":"two"}`, `{"a":{"b":1},"a":{"b":2,"b":3}}`, `{"a":{"b":1},"a":7}`, `{"\u0061":"escaped name"}`,
		`{"a":"\ud800"}`, `{"a":"\ud83d\ude00"}`, `{"a":"\x"}`, `{"a":"\u12"}`, "{\"a\":\"tab\tin it\"}", "{\"a\":\"\xff\"}",
		` { "a" : { "b" : [ 1 , { } ] , "b" : "x" } } `, "\xef\xbb\xbf{\"a\":\"bom\"}", "\xef\xbb\xbf\xef\xbb\xbf{\"a\":1}",
		`{"a":1}x`, `{"a":1} {}`, `{"a":1,}`, `{,"a":1}`, `{"a" 1}`, `{a:1}`, `{"a":tru}`, `{"a":null}`, `{"a":true}`, `{"a":[1,]}`, `{"a":[1`,
		`[{"a":1}]`, `"a"`, `null`, ``, ` `, `{`, `{}`, `{"a"`, `{"a":`, `{"a":"`, `{"":{"":1}}`,
		`{"x":` + deep + `,"a":1}`, `{"x":[` + deep + `],"a":1}`, `{"a\/b":1,"a":"\/"}`, `{"a":"é"}`, `{"b":"only"}`,
	}
	for _, body := range bodies {
		for _, text := range []string{"$.a", "$.a.b", "$['']['']", "$['a/b']", "$.x"} {
			d := document{body: []byte(body)}
			if got, want := d.find(text), foundInTree([]byte(body), text); got != want {
				t.Errorf("%.60q %s: %q, want %q", body, text, got, want)
			}
			if got, want := d.read() != noJSON, parseJSON([]byte(body)) != nil || strings.TrimSpace(body) == "null"; got != want {
				t.Errorf("%.60q is JSON: %v, want %v", body, got, want)
			}
		}
	}
}

func FuzzDocument(f *testing.F) {
	for _, body := range []string{`{"a":{"b":1.0},"a":"x"}`, `{"\u0061":[1,{"b":2}],"b":-1e5}`, `{"a":"\ud800","b":{"a":""}}`, `[]`, "\xef\xbb\xbf{}"} {
		f.Add([]byte(body), "a", "b")
	}
	f.Fuzz(func(t *testing.T, body []byte, first, second string) {
		for _, names := range [][]string{{first}, {first, second}} {
			text := "$"
			for _, name := range names {
				text += "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "']"
			}
			p := compile(text)
			if p == nil || p.names == nil {
				continue
			}
			d := document{body: body}
			if got, want := d.find(text), foundInTree(body, text); got != want {
				t.Errorf("%q in %q: %q, want %q", names, body, got, want)
			}
		}
	})
}

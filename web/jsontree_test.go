package web

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestTreeKeepsWhatADecoderWouldLose(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, src, want string
	}{
		{"a number that float64 would round", `{"serial":9007199254740993117}`, "{\n  \"serial\": 9007199254740993117\n}"},
		{"trailing zeros of an amount", `{"amount":1280.00}`, "{\n  \"amount\": 1280.00\n}"},
		{"the order of keys", `{"b":1,"a":2}`, "{\n  \"b\": 1,\n  \"a\": 2\n}"},
		{"a key that stands twice", `{"a":1,"a":2}`, "{\n  \"a\": 1,\n  \"a\": 2\n}"},
		{"escapes as they were written", `["\u0000\/中"]`, "[\n  \"\\u0000\\/中\"\n]"},
		{"empty containers", `{"a":{},"b":[ ]}`, "{\n  \"a\": {},\n  \"b\": []\n}"},
		{"a lone scalar", ` true `, "true"},
		{"a quote and a bracket in a key", `{"a\"}":[1]}`, "{\n  \"a\\\"}\": [\n    1\n  ]\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n, ok := parseTree([]byte(tt.src))
			if !ok || n.pretty() != tt.want {
				t.Errorf("pretty(%s) = %q, %v; want %q", tt.src, n.pretty(), ok, tt.want)
			}
		})
	}
}

func TestTreeRefusesWhatAPageCannotDraw(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"not JSON":       `{"a":`,
		"empty":          ``,
		"too deep":       strings.Repeat("[", 65) + strings.Repeat("]", 65),
		"too many nodes": "[" + strings.Repeat("1,", maxTreeNodes) + "1]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, ok := parseTree([]byte(src)); ok {
				t.Errorf("%s was taken for a tree", name)
			}
		})
	}
}

// FuzzTree asserts that nothing of a JSON text is lost or altered, however it
// is drawn: without its white space the drawing is the source.
func FuzzTree(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":null}],"a":"\"\\"}`, `[]`, `-1.0e+5`, `"x"`, "{\"\xff\":1}", ` { } `, `[[],{}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		n, ok := parseTree(src)
		if !ok {
			return
		}
		var want, got bytes.Buffer
		if err := json.Compact(&want, src); err != nil {
			t.Fatalf("parseTree took what is not JSON: %q", src)
		}
		if err := json.Compact(&got, []byte(n.pretty())); err != nil {
			t.Fatalf("pretty(%q) is not JSON: %v", src, err)
		}
		if !bytes.Equal(want.Bytes(), got.Bytes()) {
			t.Errorf("pretty lost something: %q became %q", want.Bytes(), got.Bytes())
		}
		if line, ok := n.Inline(); ok {
			got.Reset()
			if err := json.Compact(&got, []byte(line)); err != nil || !bytes.Equal(want.Bytes(), got.Bytes()) {
				t.Errorf("inline lost something: %q became %q", want.Bytes(), line)
			}
		}
	})
}

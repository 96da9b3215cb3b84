package dlq

import (
	"strings"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestBusinessKey(t *testing.T) {
	t.Parallel()
	order := []KeyFinder{{Body: "$.orderNo"}}
	tests := []struct {
		name     string
		finders  []KeyFinder
		delivery rabbit.Delivery
		want     string
	}{
		{"text in the body", order, rabbit.Delivery{Body: []byte(`{"orderNo":"A-1"}`)}, "A-1"},
		{"a number keeps all its digits", order, rabbit.Delivery{Body: []byte(`{"orderNo":90071992547409931234}`)}, "90071992547409931234"},
		{"and its form", order, rabbit.Delivery{Body: []byte(`{"orderNo":1.50e2}`)}, "1.50e2"},
		{"deep in an array", []KeyFinder{{Body: "$.items[1]['order no']"}}, rabbit.Delivery{Body: []byte(`{"items":[1,{"order no":7}]}`)}, "7"},
		{"with a byte order mark", order, rabbit.Delivery{Body: []byte("\xef\xbb\xbf{\"orderNo\":\"A\"}")}, "A"},
		{
			"the first that yields a value",
			[]KeyFinder{{Body: "$.orderNo"}, {Header: "x-order"}, {Property: "message_id"}},
			rabbit.Delivery{Body: []byte(`{"orderNo":""}`), Headers: rabbit.Table{"x-order": "H"}, Properties: rabbit.Properties{MessageID: "M"}},
			"H",
		},
		{"a number in a header", []KeyFinder{{Header: "n"}}, rabbit.Delivery{Headers: rabbit.Table{"n": int64(9007199254740993)}}, "9007199254740993"},
		{"a property", []KeyFinder{{Property: "message_id"}}, rabbit.Delivery{Properties: rabbit.Properties{MessageID: "M"}}, "M"},
		{"null is no key", order, rabbit.Delivery{Body: []byte(`{"orderNo":null}`)}, ""},
		{"true is no key", order, rabbit.Delivery{Body: []byte(`{"orderNo":true}`)}, ""},
		{"a table is no key", order, rabbit.Delivery{Body: []byte(`{"orderNo":{"a":1}}`)}, ""},
		{"blank is no key", order, rabbit.Delivery{Body: []byte(`{"orderNo":" \t"}`)}, ""},
		{"NUL in it: another key would be looked up", order, rabbit.Delivery{Body: []byte(`{"orderNo":"a\u0000b"}`)}, ""},
		{"a broken character in it", order, rabbit.Delivery{Body: []byte(`{"orderNo":"a\ud800b"}`)}, ""},
		{"longer than any key", order, rabbit.Delivery{Body: []byte(`{"orderNo":"` + strings.Repeat("k", 2000) + `"}`)}, ""},
		{"not JSON", order, rabbit.Delivery{Body: []byte(`orderNo=1`)}, ""},
		{"JSON with something after it", order, rabbit.Delivery{Body: []byte(`{"orderNo":1} x`)}, ""},
		{"no body", order, rabbit.Delivery{}, ""},
		{"a path that is none", []KeyFinder{{Body: "$["}}, rabbit.Delivery{Body: []byte(`{}`)}, ""},
		{"a property that is none", []KeyFinder{{Property: "colour"}}, rabbit.Delivery{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := BusinessKey(tt.delivery, tt.finders); got != tt.want {
				t.Errorf("key %q, want %q", got, tt.want)
			}
		})
	}
}

func TestKeyFinderCheck(t *testing.T) {
	t.Parallel()
	for _, f := range []KeyFinder{{Body: "$.a"}, {Header: "x"}, {Property: "correlation_id"}} {
		if err := f.Check(); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
	for _, f := range []KeyFinder{{}, {Body: "$.a", Header: "x"}, {Body: "$["}, {Property: "colour"}} {
		if f.Check() == nil {
			t.Errorf("%+v passes", f)
		}
	}
}

func FuzzBusinessKey(f *testing.F) {
	f.Add([]byte(`{"orderNo":"A-1"}`), "$.orderNo")
	f.Add([]byte(`[1,2,{"a":1e400}]`), "$..[?@.a > 1]")
	f.Add([]byte(`{"a":"\u0000"}`), "$.*")
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		key := BusinessKey(rabbit.Delivery{Body: body}, []KeyFinder{{Body: path}})
		if key != "" && !usableKey(key) {
			t.Errorf("key %q", key)
		}
	})
}

package dlq

import (
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// FuzzUnit gives every family headers and bodies of any shape.
func FuzzUnit(f *testing.F) {
	for i, family := range families {
		for _, name := range append(append([]string{"x-death"}, family.marks...), family.prefixes...) {
			f.Add(name, uint8(i), "text", int64(3), "retry_info", uint8(0), `[{"properties":{"headers":{"a":[1,{"b":null}]},"timestamp":1}}]`, []byte(massTransitBody))
		}
	}
	for _, body := range []string{
		easyNetQBody(`"{}"`), easyNetQBody(`"AAAA"`), `{"payload":"AAAA","num_attempts":1,"error":"x","failed_at":"","properties":"e30="}`,
		`{"queue_name":"a.DQ","actor_name":"a","message_id":"m","options":{"retries":1,"eta":2}}`, `O:36:"Symfony\Component\Messenger\Envelope":`, "Tzoz",
		"\xef\xbb\xbf{\"pattern\":1,\"data\":2}", `{"pubsubname":1,"specversion":2}`,
	} {
		f.Add("rascal", uint8(8), "recovery", int64(1), "laravel", uint8(8), "attempts", []byte(body))
	}
	f.Fuzz(func(t *testing.T, name string, kind uint8, s string, n int64, name2 string, kind2 uint8, s2 string, body []byte) {
		d := rabbit.Delivery{Headers: rabbit.Table{name: shapes(kind, s, n), name2: shapes(kind2, s2, n)}, Body: body}
		facts := Extract(d, Source{Queue: s, BusinessKey: []KeyFinder{{Body: "$.a"}}}, arrival)
		for _, text := range []string{
			facts.BusinessKey, facts.Failure.Type, facts.Failure.Message, facts.Failure.Stack, facts.Original.Queue, facts.ClockSaid,
		} {
			if !clean(text) || len(text) > maxFailureStack {
				t.Errorf("%.100q is not what a text column takes", text)
			}
		}
		if facts.Original.Queue != "" && facts.Original.Queue == s {
			t.Errorf("it comes from the terminal queue %q itself", s)
		}
		u := UnitOf(Life{Headers: d.Headers, Facts: facts}, body, arrival)
		if len(u.Body) > len(body) {
			t.Errorf("%d bytes are sent of %d", len(u.Body), len(body))
		}
		for name := range u.Headers {
			if isCommonOff(name) {
				t.Errorf("header %q is sent", name)
			}
		}
		if len(name) <= maxShortString && len(name2) <= maxShortString {
			if _, err := rabbit.EncodeHeaders(u.Headers); err != nil {
				t.Errorf("headers that cannot be sent: %v", err)
			}
		}
	})
}

func TestBodyTells(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"a":`: true, " \n{": true, "\xef\xbb\xbf{": true, phpEnvelope: true, "": false, "[1]": false, "plain": false, "\x00{": false, "O:3": false,
	} {
		if got := BodyTells([]byte(body)); got != want {
			t.Errorf("%q: %v, want %v", body, got, want)
		}
	}
}

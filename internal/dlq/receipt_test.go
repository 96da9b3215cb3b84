package dlq

import (
	"crypto/sha256"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// receipts writes a window's receipts from letters: one for each message.
func receipts(window byte, looks int, messages string) []receipt {
	var all []receipt
	for i, m := range messages {
		all = append(all, receipt{
			id: int64(window)*100 + int64(i), window: uuid.UUID{window}, fingerprint: fingerprint{byte(m)}, looks: looks,
		})
	}
	return all
}

// seen writes deliveries from letters; capital ones are redelivered, by a queue
// that counts deliveries or by one that does not.
func seen(messages string, counted bool) []sighting {
	var all []sighting
	for _, m := range messages {
		s := sighting{fingerprint: fingerprint{byte(m)}}
		if m >= 'A' && m <= 'Z' {
			s = sighting{fingerprint: fingerprint{byte(m - 'A' + 'a')}, redelivered: true, counted: counted}
		}
		all = append(all, s)
	}
	return all
}

func TestRecognise(t *testing.T) {
	t.Parallel()
	type ids = map[int]int64
	tests := []struct {
		name        string
		deliveries  string
		outstanding []receipt
		first       bool
		quorum      recognition
		classic     recognition
	}{
		{
			"the window is back, with new messages behind it", "ABxy", receipts(1, 1, "ab"), true,
			recognition{ids{0: 100, 1: 101}, ids{}},
			recognition{ids{0: 100, 1: 101}, ids{}},
		},
		{
			"twins of one window stay two", "AA", receipts(1, 1, "aa"), true,
			recognition{ids{0: 100, 1: 101}, ids{}},
			recognition{ids{0: 100, 1: 101}, ids{}},
		},
		{
			"a twin too many: a classic queue's broker may have been restarted", "AAA", receipts(1, 1, "aa"), true,
			recognition{ids{0: 100, 1: 101}, ids{}},
			recognition{ids{}, ids{0: 100, 1: 101}},
		},
		{
			"a message that was never delivered is new", "a", receipts(1, 1, "a"), true,
			recognition{ids{}, ids{}},
			recognition{ids{}, ids{}},
		},
		{
			"a part of the window, or twins that a restart of the broker made look so", "AB", receipts(1, 1, "abc"), true,
			recognition{ids{0: 100, 1: 101}, ids{}},
			recognition{ids{}, ids{0: 100, 1: 101}},
		},
		{
			"a part of a window among others may be twins", "AX", receipts(1, 1, "abc"), true,
			recognition{ids{}, ids{0: 100}},
			recognition{ids{}, ids{0: 100}},
		},
		{
			"an earlier look may have marked a twin as redelivered", "AB", receipts(1, 2, "ab"), true,
			recognition{ids{}, ids{0: 100, 1: 101}},
			recognition{ids{}, ids{0: 100, 1: 101}},
		},
		{
			"an old doubt about twins leaves the new window its place", "AAA", append(receipts(1, 2, "aa"), receipts(2, 1, "aaa")...), true,
			recognition{ids{0: 200, 1: 201, 2: 202}, ids{}},
			recognition{ids{0: 200, 1: 201, 2: 202}, ids{}},
		},
		{
			"an old doubt does not explain a twin too many", "AAA", append(receipts(1, 2, "a"), receipts(2, 1, "aa")...), true,
			recognition{ids{0: 200, 1: 201}, ids{2: 100}},
			recognition{ids{}, ids{0: 200, 1: 201, 2: 100}},
		},
		{
			"late but whole: the old connection took its time to die", "AB", receipts(1, 1, "ab"), false,
			recognition{ids{0: 100, 1: 101}, ids{}},
			recognition{ids{0: 100, 1: 101}, ids{}},
		},
		{
			"late and all alike may be twins", "AA", receipts(1, 1, "aa"), false,
			recognition{ids{}, ids{0: 100, 1: 101}},
			recognition{ids{}, ids{0: 100, 1: 101}},
		},
		{
			"late and in part may be twins", "A", receipts(1, 1, "ab"), false,
			recognition{ids{}, ids{0: 100}},
			recognition{ids{}, ids{0: 100}},
		},
		{
			"two windows are back", "ABC", append(receipts(1, 1, "ab"), receipts(2, 1, "c")...), true,
			recognition{ids{0: 100, 1: 101, 2: 200}, ids{}},
			recognition{ids{0: 100, 1: 101, 2: 200}, ids{}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for counted, want := range map[bool]recognition{true: tt.quorum, false: tt.classic} {
				got := recognise(seen(tt.deliveries, counted), tt.outstanding, tt.first)
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(recognition{})); diff != "" {
					t.Errorf("counted %t: recognition (-want +got):\n%s", counted, diff)
				}
			}
		})
	}
}

func TestPlaceOfWhatComesBack(t *testing.T) {
	t.Parallel()
	body, other := sha256.Sum256([]byte("body")), sha256.Sum256([]byte("other"))
	// Round 1 died; replay 7 brought round 2; replay 8 of round 2 is under way,
	// and replay 6 of round 1 was given up as lost.
	know := func() *thread {
		return &thread{
			ours: true, state: Replayed, round: 2,
			lives: map[int][sha256.Size]byte{1: body, 2: body},
			sent:  map[int64]sending{6: {round: 1}, 7: {round: 1, queue: "q.pay"}, 8: {round: 2, queue: "q.pay"}},
			back:  map[int64]bool{7: true},
		}
	}
	edited := know() // replay 8 sent another body than died
	edited.sent[8] = sending{round: 2, queue: "q.pay", body: &other}
	foreign := know()
	foreign.ours = false
	under := comeback{replay: 8, round: 2}
	tests := []struct {
		name   string
		thread *thread
		c      comeback
		sha    [32]byte
		queue  string
		want   placing
	}{
		{"not known here", nil, under, body, "q.pay", stranger},
		{"the replay under way", know(), under, body, "q.pay", nextLife},
		{"it is not known where it died", know(), under, body, "", nextLife},
		{"it is not known where it was sent", know(), comeback{replay: 6, round: 1}, body, "q.pay", nextLife},
		{"it died elsewhere", know(), under, body, "q.audit", lookalike},
		{"another body", know(), under, other, "q.pay", stranger},
		{"the body that was sent, which is not the one that died", edited, under, other, "q.pay", nextLife},
		{"the body that died, where another was sent", edited, under, body, "q.pay", lookalike},
		{"a sent body, elsewhere", edited, under, other, "q.audit", lookalike},
		{"another source", foreign, under, body, "q.pay", lookalike},
		{"a replay that has come back", know(), comeback{replay: 7, round: 1}, body, "q.pay", lookalike},
		{"the same with another body", know(), comeback{replay: 7, round: 1}, other, "q.pay", stranger},
		{"a replay that is not known", know(), comeback{replay: 99, round: 2}, body, "q.pay", lookalike},
		{"another round than was sent", know(), comeback{replay: 8, round: 1}, body, "q.pay", lookalike},
		{"no round and no replay", know(), comeback{}, body, "q.pay", lookalike},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.thread.place(tt.c, [][32]byte{tt.sha}, tt.queue); got != tt.want {
				t.Errorf("place %d, want %d", got, tt.want)
			}
		})
	}

	thread := know()
	thread.grow(under, body)
	if got := thread.place(under, [][32]byte{body}, "q.pay"); got != lookalike {
		t.Errorf("a second arrival in the same window: place %d, want %d", got, lookalike)
	}
}

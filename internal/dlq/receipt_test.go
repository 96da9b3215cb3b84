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

// seen writes deliveries from letters; capital ones are redelivered.
func seen(messages string) []sighting {
	var all []sighting
	for _, m := range messages {
		s := sighting{fingerprint: fingerprint{byte(m)}}
		if m >= 'A' && m <= 'Z' {
			s = sighting{fingerprint: fingerprint{byte(m - 'A' + 'a')}, redelivered: true}
		}
		all = append(all, s)
	}
	return all
}

func TestRecognise(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		deliveries  string
		outstanding []receipt
		first       bool
		want        recognition
	}{
		{
			"the window is back, with new messages behind it", "ABxy", receipts(1, 1, "ab"), true,
			recognition{map[int]int64{0: 100, 1: 101}, map[int]int64{}},
		},
		{
			"twins of one window stay two", "AA", receipts(1, 1, "aa"), true,
			recognition{map[int]int64{0: 100, 1: 101}, map[int]int64{}},
		},
		{
			"a twin too many has no receipt", "AAA", receipts(1, 1, "aa"), true,
			recognition{map[int]int64{0: 100, 1: 101}, map[int]int64{}},
		},
		{
			"a message that was never delivered is new", "a", receipts(1, 1, "a"), true,
			recognition{map[int]int64{}, map[int]int64{}},
		},
		{
			"a window cut in two by the limits", "AB", receipts(1, 1, "abc"), true,
			recognition{map[int]int64{0: 100, 1: 101}, map[int]int64{}},
		},
		{
			"a part of a window among others may be twins", "AX", receipts(1, 1, "abc"), true,
			recognition{map[int]int64{}, map[int]int64{0: 100}},
		},
		{
			"an earlier look may have marked a twin as redelivered", "AB", receipts(1, 2, "ab"), true,
			recognition{map[int]int64{}, map[int]int64{0: 100, 1: 101}},
		},
		{
			"late but whole: the old connection took its time to die", "AB", receipts(1, 1, "ab"), false,
			recognition{map[int]int64{0: 100, 1: 101}, map[int]int64{}},
		},
		{
			"late and all alike may be twins", "AA", receipts(1, 1, "aa"), false,
			recognition{map[int]int64{}, map[int]int64{0: 100, 1: 101}},
		},
		{
			"late and in part may be twins", "A", receipts(1, 1, "ab"), false,
			recognition{map[int]int64{}, map[int]int64{0: 100}},
		},
		{
			"two windows are back", "ABC", append(receipts(1, 1, "ab"), receipts(2, 1, "c")...), true,
			recognition{map[int]int64{0: 100, 1: 101, 2: 200}, map[int]int64{}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := recognise(seen(tt.deliveries), tt.outstanding, tt.first)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(recognition{})); diff != "" {
				t.Errorf("recognition (-want +got):\n%s", diff)
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

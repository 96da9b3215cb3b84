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
		{"the window is back, with new messages behind it", "ABxy", receipts(1, 1, "ab"), true,
			recognition{map[int]int64{0: 100, 1: 101}, map[int]int64{}}},
		{"twins of one window stay two", "AA", receipts(1, 1, "aa"), true,
			recognition{map[int]int64{0: 100, 1: 101}, map[int]int64{}}},
		{"a twin too many has no receipt", "AAA", receipts(1, 1, "aa"), true,
			recognition{map[int]int64{0: 100, 1: 101}, map[int]int64{}}},
		{"a message that was never delivered is new", "a", receipts(1, 1, "a"), true,
			recognition{map[int]int64{}, map[int]int64{}}},
		{"a window cut in two by the limits", "AB", receipts(1, 1, "abc"), true,
			recognition{map[int]int64{0: 100, 1: 101}, map[int]int64{}}},
		{"a part of a window among others may be twins", "AX", receipts(1, 1, "abc"), true,
			recognition{map[int]int64{}, map[int]int64{0: 100}}},
		{"an earlier look may have marked a twin as redelivered", "AB", receipts(1, 2, "ab"), true,
			recognition{map[int]int64{}, map[int]int64{0: 100, 1: 101}}},
		{"late but whole: the old connection took its time to die", "AB", receipts(1, 1, "ab"), false,
			recognition{map[int]int64{0: 100, 1: 101}, map[int]int64{}}},
		{"late and all alike may be twins", "AA", receipts(1, 1, "aa"), false,
			recognition{map[int]int64{}, map[int]int64{0: 100, 1: 101}}},
		{"late and in part may be twins", "A", receipts(1, 1, "ab"), false,
			recognition{map[int]int64{}, map[int]int64{0: 100}}},
		{"two windows are back", "ABC", append(receipts(1, 1, "ab"), receipts(2, 1, "c")...), true,
			recognition{map[int]int64{0: 100, 1: 101, 2: 200}, map[int]int64{}}},
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
	// Round 1 died; replay 7 brought round 2; replay 8 of round 2 is under way.
	know := func() *thread {
		return &thread{round: 2, replays: map[int64]bool{7: true, 8: true}, lives: []pastLife{{1, 0, body}, {2, 7, body}}}
	}
	tests := []struct {
		name   string
		thread *thread
		c      comeback
		sha    [32]byte
		want   placing
	}{
		{"not known here", nil, comeback{replay: 8, round: 2}, body, stranger},
		{"the replay under way", know(), comeback{replay: 8, round: 2}, body, nextLife},
		{"changed on its way", know(), comeback{replay: 8, round: 2}, other, nextLife},
		{"the same return once more", know(), comeback{replay: 7, round: 1}, body, knownLife},
		{"a return of that replay with another body", know(), comeback{replay: 7, round: 1}, other, lookalike},
		{"a replay that is not known, of the current life", know(), comeback{replay: 99, round: 2}, body, nextLife},
		{"a replay that is not known, of an earlier life", know(), comeback{replay: 99, round: 1}, body, knownLife},
		{"the same with another body", know(), comeback{replay: 99, round: 1}, other, lookalike},
		{"a life that never was", know(), comeback{replay: 99, round: 9}, body, lookalike},
		{"no round at all", know(), comeback{}, other, lookalike},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.thread.place(tt.c, tt.sha); got != tt.want {
				t.Errorf("place %d, want %d", got, tt.want)
			}
		})
	}

	thread, c := know(), comeback{replay: 8, round: 2}
	thread.grow(c, body)
	if got := thread.place(c, body); got != knownLife {
		t.Errorf("a copy in the same window: place %d, want %d", got, knownLife)
	}
}

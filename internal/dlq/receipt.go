package dlq

import (
	"maps"
	"slices"

	"github.com/google/uuid"
)

// receipt says that a delivery is committed, and that it is not proven that
// the broker has heard the ack.
type receipt struct {
	id          int64 // among those read at a time
	window      uuid.UUID
	place       int // in the window
	message     uuid.UUID
	marked      bool // of its window
	fingerprint fingerprint
	looks       int // how often a drain has begun to consume since
}

// doubtful says that the receipt is never believed: an earlier look was cut
// short, or messages behind its window were called redelivered before it was
// committed.
func (r receipt) doubtful() bool { return r.looks > 1 || r.marked }

// sighting is what recognise needs to know of a delivery.
type sighting struct {
	fingerprint fingerprint
	redelivered bool
	// counted: the broker counts its deliveries (quorum queues), so that it was
	// truly delivered before. A classic queue says so of all that a restart of the
	// broker found in it.
	counted bool
}

// recognition tells what the deliveries of a window are, by their position.
type recognition struct {
	same     map[int]int64 // stored already: the receipt of that very message
	suspects map[int]int64 // has a receipt, but may be a twin: store it, and say so
}

// recognise finds among the deliveries of a window those that were committed
// before their ack got lost. outstanding are all receipts of the source, the
// oldest first. first says that nothing but such deliveries has
// come since the drain began to consume.
//
// The broker acks a window as a whole, so an old window comes back as a whole
// or not at all, at the head of its queue and marked as redelivered. A delivery
// that has a receipt may also be a twin of one that was acked: another consumer,
// a restart of the broker, or an earlier look of ours that was cut short can have
// marked it as redelivered too. So receipts are believed only while that is all
// but impossible, and elsewhere the delivery is stored again, as a possible copy:
//   - it is the first time that someone looks since the ack was lost, and nothing
//     behind the window was called redelivered before, and
//   - all of the old window is there, or this one holds nothing else (an old
//     window may be cut in two by the limits of a new one), and
//   - nothing says that the broker was restarted: of a classic queue it then
//     delivers all as redelivered. So there no redelivery may be left over that
//     has no receipt, and a part of a window is not enough; a quorum queue counts
//     deliveries, and what it calls redelivered was delivered, and
//   - it is at the head of the queue. Behind other messages (the broker had not
//     yet noticed that the old connection was gone) it takes a whole window of
//     messages that are not all alike.
func recognise(deliveries []sighting, outstanding []receipt, first bool) recognition {
	r := recognition{same: map[int]int64{}, suspects: map[int]int64{}}
	free := map[fingerprint][]int{}
	left, counted := 0, true
	for i, d := range deliveries {
		if d.redelivered {
			free[d.fingerprint] = append(free[d.fingerprint], i)
			left, counted = left+1, counted && d.counted
		}
	}
	windows := byWindow(outstanding)
	all := make([]map[int]int64, len(windows))
	for i, window := range windows {
		all[i] = match(window, free)
		if !window[0].doubtful() { // an old doubt explains nothing
			left -= len(all[i])
		}
	}
	known := 0
	for i, window := range windows {
		whole := len(all[i]) == len(window)
		alone := counted && len(all[i])+known == len(deliveries)
		sound := counted || left == 0 // nothing says that the broker was restarted
		into := r.suspects
		if sound && !window[0].doubtful() && ((first && (whole || alone)) || (whole && !alike(window))) {
			into = r.same
			known += len(all[i])
		}
		maps.Copy(into, all[i])
	}
	return r
}

// match gives each receipt of a window the first delivery that it fits, and
// takes that out of free.
func match(window []receipt, free map[fingerprint][]int) map[int]int64 {
	matched := map[int]int64{}
	for _, receipt := range window {
		if places := free[receipt.fingerprint]; len(places) > 0 {
			matched[places[0]] = receipt.id
			free[receipt.fingerprint] = places[1:]
		}
	}
	return matched
}

func alike(window []receipt) bool {
	return !slices.ContainsFunc(window, func(r receipt) bool { return r.fingerprint != window[0].fingerprint })
}

// byWindow groups receipts by the window they were drained in: first those that
// may be believed, since an old doubt must not take their place; the oldest of
// each first.
func byWindow(all []receipt) [][]receipt {
	var windows [][]receipt
	place := map[uuid.UUID]int{}
	for _, r := range all {
		i, ok := place[r.window]
		if !ok {
			i = len(windows)
			place[r.window] = i
			windows = append(windows, nil)
		}
		windows[i] = append(windows[i], r)
	}
	var sound, doubtful [][]receipt
	for _, w := range windows {
		if w[0].doubtful() {
			doubtful = append(doubtful, w)
		} else {
			sound = append(sound, w)
		}
	}
	return append(sound, doubtful...)
}

package dlq

import (
	"maps"

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

// sighting is what recognise needs to know of a delivery.
type sighting struct {
	fingerprint fingerprint
	redelivered bool
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
//   - it is the first time that someone looks since the ack was lost, and
//   - all of the old window is there, or this one holds nothing else (an old
//     window may be cut in two by the limits of a new one), and
//   - it is at the head of the queue. Behind other messages (the broker had not
//     yet noticed that the old connection was gone) it takes a whole window of
//     messages that are not all alike.
func recognise(deliveries []sighting, outstanding []receipt, first bool) recognition {
	r := recognition{same: map[int]int64{}, suspects: map[int]int64{}}
	free := map[fingerprint][]int{}
	for i, d := range deliveries {
		if d.redelivered {
			free[d.fingerprint] = append(free[d.fingerprint], i)
		}
	}
	for _, window := range byWindow(outstanding) {
		matched := map[int]int64{}
		kinds := map[fingerprint]bool{}
		for _, receipt := range window {
			kinds[receipt.fingerprint] = true
			places := free[receipt.fingerprint]
			if len(places) == 0 {
				continue
			}
			matched[places[0]] = receipt.id
			free[receipt.fingerprint] = places[1:]
		}
		whole := len(matched) == len(window)
		alone := len(matched)+len(r.same) == len(deliveries)
		into := r.suspects
		if window[0].looks <= 1 && ((first && (whole || alone)) || (whole && len(kinds) > 1)) {
			into = r.same
		}
		maps.Copy(into, matched)
	}
	return r
}

// byWindow groups receipts by the window they were drained in, the oldest first.
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
	return windows
}

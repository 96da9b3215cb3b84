package dlq

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// skew is how far ahead of the console's clock another one may be.
const skew = 10 * time.Minute

// moment is a time that somebody wrote down. at is zero where it cannot be
// true, or cannot be read; said is then what stands there.
type moment struct {
	at   time.Time
	said string
}

// told says whether there is anything at all.
func (m moment) told() bool { return !m.at.IsZero() || m.said != "" }

// maxSaid bounds what is shown of a time that cannot be.
const maxSaid = 64

// momentOf reads a time of any shape that is known: AMQP's, ISO 8601 with its
// relatives, NServiceBus' own, and numbers, in seconds or in what their size
// says. arrived bounds what is possible.
func momentOf(value any, arrived time.Time) moment {
	switch v := value.(type) {
	case nil:
		return moment{}
	case time.Time:
		return momentAt(v, arrived)
	case string, []byte:
		text, _ := textOf(v)
		return momentIn(text, arrived)
	}
	if n, ok := numberOf(value); ok {
		return momentNumbered(n, arrived)
	}
	return moment{}
}

// momentAt takes t where it can be the time of a death: clocks that are not
// set, and milliseconds where seconds belong, give times in 1970 or in the far
// future.
func momentAt(t, arrived time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	if t = t.UTC(); t.Year() < 2000 || t.After(arrived.Add(skew)) {
		return moment{said: saidBy(t)}
	}
	return moment{at: t}
}

// PossibleTime says whether a death that arrived then may have been at t.
func PossibleTime(t, arrived time.Time) bool { return !momentAt(t, arrived).at.IsZero() }

// saidBy writes a time that cannot be for people.
func saidBy(t time.Time) string {
	if y := t.Year(); y < 1 || y > 9999 {
		return strconv.FormatInt(t.Unix(), 10) + " s"
	}
	return t.Format(time.RFC3339)
}

// layouts are the forms that frameworks write times in: ISO 8601 with and
// without a zone (UTC then), NServiceBus' with a colon before the fraction, and
// what Ruby and PHP print.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999 -0700", "2006-01-02 15:04:05.999999999 MST",
	"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999-0700",
}

func momentIn(text string, arrived time.Time) moment {
	text = strings.TrimSpace(cut(text, maxSaid))
	if text == "" {
		return moment{}
	}
	if n, ok := numberIn(text); ok {
		return momentNumbered(n, arrived)
	}
	for _, form := range []string{text, dotted(text)} {
		for _, layout := range layouts {
			if t, err := time.Parse(layout, form); err == nil {
				return momentAt(t, arrived)
			}
		}
	}
	return moment{said: text}
}

// dotted turns NServiceBus' "2026-03-01 03:10:00:123456 Z" into a form that
// package time reads.
func dotted(text string) string {
	text = strings.TrimSuffix(text, " Z")
	if i := strings.LastIndexByte(text, ':'); i == len("2006-01-02 15:04:05") {
		text = text[:i] + "." + text[i+1:]
	}
	return text
}

// momentNumbered reads a number of seconds, milliseconds, microseconds or
// nanoseconds since 1970: for the years that matter they never overlap.
func momentNumbered(n int64, arrived time.Time) moment {
	switch abs := math.Abs(float64(n)); {
	case abs < 1e11:
		return momentAt(time.Unix(n, 0), arrived)
	case abs < 1e14:
		return momentAt(time.UnixMilli(n), arrived)
	case abs < 1e17:
		return momentAt(time.UnixMicro(n), arrived)
	}
	return momentAt(time.Unix(0, n), arrived)
}

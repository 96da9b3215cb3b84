package dlq

import (
	"slices"
	"strings"
)

// FailureHeaders names the headers in which a source's consumers say why a
// message failed; "" for what they do not say. Names are exact.
type FailureHeaders struct {
	Type    string
	Message string
	Stack   string
	Retries string
	Queue   string // where it was consumed
	Time    string // when it failed
}

// configured reads the headers that the settings name: what somebody wrote
// down on purpose is believed before everything that is known or guessed.
func (r *specimen) configured(names FailureHeaders) found {
	f := found{failure: r.failure(names.Type, names.Message, names.Stack)}
	if names.Retries != "" {
		f.retries = countOf(r.headers[names.Retries])
	}
	if names.Queue != "" {
		f.queue = shortOf(r.headers[names.Queue])
	}
	if names.Time != "" {
		f.last = momentOf(r.headers[names.Time], r.arrived)
	}
	return f
}

// generic guesses by the names that home-grown consumers give their headers,
// whatever their case; told are the families that the message is known to be of,
// whose headers are no guess.
func (r *specimen) generic(told marks) found {
	var room [16]string
	names := room[:0]
	for name := range r.headers {
		if m, plain := markOf(name); !plain && m&told == 0 && isGuessable(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names) // the same headers always yield the same facts
	var f found
	for _, name := range names {
		f.guess(plainName(name), r.headers[name])
	}
	return f
}

func (f *found) guess(plain string, value any) {
	if retryNames[plain] && f.retries == nil {
		f.retries = countOf(value)
	}
	f.guessOrigin(plain, value)
	f.guessFailure(plain, value)
}

// retryNames are names of retry counters, as plainName writes them.
var retryNames = map[string]bool{
	"retrycount": true, "retries": true, "retry": true, "attempts": true, "numattempts": true,
}

// guessWords begin or hold every name that generic can make something of.
var guessWords = []string{"error", "exception", "reason", "stack", "retr", "attempts", "original"}

// isGuessable is the cheap question whether generic has a use for a name.
func isGuessable(name string) bool {
	for i := range len(name) {
		c := lower(name[i])
		if c != 'e' && c != 'r' && c != 's' && c != 'a' && c != 'o' {
			continue
		}
		for _, word := range guessWords {
			if word[0] == c && beginsFold(name[i:], word) {
				return true
			}
		}
	}
	return false
}

// beginsFold says whether s begins with word, which is in lower case, whatever
// the case of s and across what separates words in it.
func beginsFold(s, word string) bool {
	i := 0
	for at := 0; at < len(s) && i < len(word); at++ {
		switch c := lower(s[at]); {
		case c == word[i]:
			i++
		case c != '-' && c != '_' && c != '.' && c != ' ':
			return false
		}
	}
	return i == len(word)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// plainName writes a header name in lower case, without an opening "x-" and
// without what separates words.
func plainName(name string) string {
	return separators.Replace(strings.TrimPrefix(strings.ToLower(name), "x-"))
}

var separators = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

func (f *found) guessOrigin(plain string, value any) {
	switch {
	case plain == "originalqueue" && f.queue == nil:
		f.queue = shortOf(value)
	case plain == "originalexchange" && f.exchange == nil:
		f.exchange = exactOf(value)
	case plain == "originalroutingkey" && f.routingKey == nil:
		f.routingKey = exactOf(value)
	}
}

func (f *found) guessFailure(plain string, value any) {
	text, ok := textOf(value)
	if !ok || text == "" {
		return
	}
	switch {
	case inOrder(plain, "stack", "trace"):
		f.failure.Stack = firstOf(f.failure.Stack, text)
	case inOrder(plain, "exception", "type"), inOrder(plain, "exception", "class"),
		inOrder(plain, "error", "type"), inOrder(plain, "error", "class"):
		f.failure.Type = firstOf(f.failure.Type, text)
	case inOrder(plain, "exception", "message"), inOrder(plain, "error", "message"),
		inOrder(plain, "error", "reason"), plain == "error", plain == "reason":
		f.failure.Message = firstOf(f.failure.Message, text)
	}
}

// inOrder says whether first and then second stand in s.
func inOrder(s, first, second string) bool {
	_, rest, ok := strings.Cut(s, first)
	return ok && strings.Contains(rest, second)
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

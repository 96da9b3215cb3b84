package web

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

func asBad(err error) (bad, bool) {
	b := bad{}
	ok := errors.As(err, &b)
	return b, ok
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// shortType is an exception's class without its package: what differs stands
// at the end.
func shortType(name string) string {
	if strings.ContainsAny(name, " \t\n<>\"") {
		return name // not a class
	}
	if i := strings.LastIndexAny(name, ".:\\/"); i >= 0 && i < len(name)-1 {
		return name[i+1:]
	}
	return name
}

// head is the start of a long text, for the line that unfolds it.
func head(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	runes := []rune(line)
	return string(runes[:min(len(runes), longHeader/2)])
}

// badly says in the reader's language what is wrong with a field; where the
// catalogue has no text for it, what programs are told.
func (f frame) badly(b bad) string {
	if id := "bad." + b.code + "." + b.field; f.has(id) {
		return f.T(id)
	}
	return b.detail
}

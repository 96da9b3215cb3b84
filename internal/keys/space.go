package keys

import (
	"slices"
	"strings"
	"time"
)

// placeholder stands in a pattern for the business key.
const placeholder = "{business_key}"

// defaultStuckAfter is the articles' limit: processing for longer means a dead
// consumer.
const defaultStuckAfter = 5 * time.Minute

// KeyOf returns the idempotency key of a business key in s.
func (s Space) KeyOf(businessKey string) string {
	return strings.Replace(s.Pattern, placeholder, businessKey, 1)
}

// BusinessKeyOf returns the business key that key stands for in s, and false
// where key does not match s's pattern.
func (s Space) BusinessKeyOf(key string) (string, bool) {
	before, after, found := strings.Cut(s.Pattern, placeholder)
	if !found || len(key) <= len(before)+len(after) {
		return "", false
	}
	if !strings.HasPrefix(key, before) || !strings.HasSuffix(key, after) {
		return "", false
	}
	return key[len(before) : len(key)-len(after)], true
}

// redisType returns the Redis type in which s keeps its keys.
func (s Space) redisType() string {
	if s.Style == Hash {
		return typeHash
	}
	return typeString
}

// spaces finds the space of a key.
type spaces []Space

// newSpaces returns list with the most specific pattern first, so that a
// pattern that begins like another one does not take its keys.
func newSpaces(list []Space) spaces {
	sorted := slices.Clone(list)
	for i := range sorted {
		if sorted[i].StuckAfter <= 0 {
			sorted[i].StuckAfter = defaultStuckAfter
		}
	}
	slices.SortStableFunc(sorted, func(a, b Space) int { return len(b.Pattern) - len(a.Pattern) })
	return sorted
}

func (l spaces) of(key string) (Space, bool) {
	for _, s := range l {
		if _, ok := s.BusinessKeyOf(key); ok {
			return s, true
		}
	}
	return Space{}, false
}

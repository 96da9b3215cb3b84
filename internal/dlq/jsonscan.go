package dlq

import (
	"encoding/binary"
	"math/bits"
)

// maxJSONDepth is how deeply objects and arrays may nest in a JSON document:
// as deeply as encoding/json reads them.
const maxJSONDepth = 10000

// notJSON is what the functions below return where the text is no JSON.
const notJSON = -1

// member is one name of a JSON object with its value, by their places in the
// document. The quotes belong to the name.
type member struct {
	name, nameEnd   int
	value, valueEnd int
}

// The functions below read JSON (RFC 8259, as encoding/json takes it) without
// building anything: each is given where something begins and returns where
// the text goes on behind it, or notJSON.

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue skips one value; depth is in how many objects and arrays it stands.
func skipValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return notJSON
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{':
		_, next := membersOf(b, i, depth, nil, false)
		return next
	case c == '[':
		return skipArray(b, i, depth)
	case c == '-' || '0' <= c && c <= '9':
		return skipNumber(b, i)
	case c == 't':
		return skipWord(b, i, "true")
	case c == 'f':
		return skipWord(b, i, "false")
	case c == 'n':
		return skipWord(b, i, "null")
	}
	return notJSON
}

// membersOf skips the object that begins at i. Where keep is set it appends
// the object's members to list, in their order.
func membersOf(b []byte, i, depth int, list []member, keep bool) ([]member, int) {
	if depth >= maxJSONDepth {
		return list, notJSON
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return list, i + 1
	}
	for {
		m := member{name: i}
		if i >= len(b) || b[i] != '"' {
			return list, notJSON
		}
		if m.nameEnd = skipString(b, i); m.nameEnd < 0 {
			return list, notJSON
		}
		if i = skipSpace(b, m.nameEnd); i >= len(b) || b[i] != ':' {
			return list, notJSON
		}
		m.value = skipSpace(b, i+1)
		if m.valueEnd = skipValue(b, m.value, depth+1); m.valueEnd < 0 {
			return list, notJSON
		}
		if keep {
			list = append(list, m)
		}
		if i = skipSpace(b, m.valueEnd); i >= len(b) {
			return list, notJSON
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case '}':
			return list, i + 1
		default:
			return list, notJSON
		}
	}
}

func skipArray(b []byte, i, depth int) int {
	if depth >= maxJSONDepth {
		return notJSON
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = skipValue(b, i, depth+1); i < 0 {
			return notJSON
		}
		if i = skipSpace(b, i); i >= len(b) {
			return notJSON
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case ']':
			return i + 1
		default:
			return notJSON
		}
	}
}

// Eight bytes at a time: a byte is flagged by its top bit where it is below
// 0x20, a quote or a backslash. The lowest flag is always true; those above it
// need not be.
const (
	eachByte = 0x0101010101010101
	eachTop  = 0x80 * eachByte
)

func endsPlain(x uint64) uint64 {
	quote, slash := x^('"'*eachByte), x^('\\'*eachByte)
	return ((x-0x20*eachByte)&^x | (quote-eachByte)&^quote | (slash-eachByte)&^slash) & eachTop
}

func skipString(b []byte, i int) int {
	for i++; ; {
		for i+8 <= len(b) {
			flags := endsPlain(binary.LittleEndian.Uint64(b[i:]))
			if flags != 0 {
				i += bits.TrailingZeros64(flags) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return notJSON
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if i = skipEscape(b, i); i < 0 {
				return notJSON
			}
		case c < 0x20:
			return notJSON
		default: // within the last eight bytes
			i++
		}
	}
}

func skipEscape(b []byte, i int) int {
	if i+1 >= len(b) {
		return notJSON
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 > len(b) {
			return notJSON
		}
		for _, c := range b[i+2 : i+6] {
			if !isHex(c) {
				return notJSON
			}
		}
		return i + 6
	}
	return notJSON
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func skipNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	default:
		if i = skipDigits(b, i); i < 0 {
			return notJSON
		}
	}
	if i < len(b) && b[i] == '.' {
		if i = skipDigits(b, i+1); i < 0 {
			return notJSON
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return skipDigits(b, i)
	}
	return i
}

// skipDigits skips at least one digit.
func skipDigits(b []byte, i int) int {
	start := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if i == start {
		return notJSON
	}
	return i
}

func skipWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return notJSON
	}
	return i + len(word)
}

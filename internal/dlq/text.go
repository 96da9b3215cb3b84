package dlq

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Bounds of what is derived for columns; the truth stays in the delivery.
const (
	maxFailureType    = 256
	maxFailureMessage = 4 << 10
	maxFailureStack   = 64 << 10
	maxBodyText       = 64 << 10
	maxBodyPreview    = 256
	maxQuarantine     = 512
	maxShortString    = 255 // AMQP's own limit for names and routing keys
	maxBusinessKey    = 1 << 10
)

// unknownRune stands for bytes that are no text.
const unknownRune = string(utf8.RuneError)

// displayable returns s as a Postgres text column takes it: bytes that are not
// UTF-8, and NUL, become replacement characters.
func displayable(s string) string {
	if clean(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, unknownRune), "\x00", unknownRune)
}

// clean says whether s is text that a column takes as it is.
func clean(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// cut returns the longest start of s of at most limit bytes that ends with a
// whole character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// isText says whether a body is text: UTF-8 without NUL, as Postgres takes it.
func isText(body []byte) bool { return bytes.IndexByte(body, 0) < 0 && utf8.Valid(body) }

// previewOf returns the start of a body that is text.
func previewOf(body []byte) string {
	return cut(string(body[:min(len(body), maxBodyPreview+utf8.UTFMax)]), maxBodyPreview)
}

// searchTextOf returns what can be searched of a body that is text, or of its
// start: lower case, at most 64 KiB.
func searchTextOf(body []byte) string {
	start := cut(string(body[:min(len(body), maxBodyText+utf8.UTFMax)]), maxBodyText)
	return cut(strings.ToLower(start), maxBodyText)
}

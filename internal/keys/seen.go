package keys

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// seen is what the operator saw of a key: its type, a print of its value and
// its absolute expiry. The expiry tells two runs with the same value apart.
type seen struct {
	Type   string `json:"t"`
	Print  string `json:"p,omitempty"`
	Expiry int64  `json:"e"`
}

// encode returns s as an opaque token. It holds no value, only its print.
func (s seen) encode() string {
	// A struct of strings and a number always marshals.
	text, _ := json.Marshal(s)
	return base64.RawURLEncoding.EncodeToString(text)
}

// decodeSeen returns what encode made a token of, or ErrBadSeen.
func decodeSeen(token string) (seen, error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return seen{}, fmt.Errorf("keys: read token: %w", ErrBadSeen)
	}
	var s seen
	if err := json.Unmarshal(text, &s); err != nil || s.Type == "" || s.Expiry < expiryGone || s.encode() != token {
		return seen{}, fmt.Errorf("keys: read token: %w", ErrBadSeen)
	}
	return s, nil
}

// ValidSeen reports whether token is one that a reading could have handed out.
func ValidSeen(token string) bool {
	_, err := decodeSeen(token)
	return err == nil
}

// print digests what a release compares: the script of Release builds the same
// from what is there then. Other types than string and hash have none: they are
// never released.
func (r raw) print() string {
	switch r.typ {
	case typeString:
		return digest(strconv.FormatInt(r.size, 10) + ":" + r.value)
	case typeHash:
		var b strings.Builder
		for _, f := range r.fields {
			if f == nil {
				b.WriteString("-;")
				continue
			}
			b.WriteString(strconv.Itoa(len(*f)) + ":" + *f + ";")
		}
		return digest(b.String())
	}
	return ""
}

// digest is the one digest that Redis has for its scripts too. It compares; it
// protects nothing.
func digest(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Cents is an amount of money, exact. In JSON and SQL it is a decimal number
// with two places, as in 199.00.
type Cents int64

// String returns c with two places.
func (c Cents) String() string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, c/100, c%100)
}

// MarshalJSON writes c as a number with two places.
func (c Cents) MarshalJSON() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalJSON reads a number with at most two places.
func (c *Cents) UnmarshalJSON(b []byte) (err error) {
	*c, err = parseCents(string(b))
	return err
}

// maxUnits keeps amounts within what the tables hold.
const maxUnits = 100_000_000_000

// parseCents reads a decimal with at most two places; anything else is an
// error rather than rounded.
func parseCents(s string) (Cents, error) {
	digits, negative := strings.CutPrefix(s, "-")
	units, places, _ := strings.Cut(digits, ".")
	if len(places) > 2 {
		return 0, errors.New("an amount has at most two places")
	}
	u, err := strconv.ParseUint(units, 10, 63)
	if err != nil || u >= maxUnits {
		return 0, errors.New("not an amount of money")
	}
	p, err := strconv.ParseUint((places + "00")[:2], 10, 8)
	if err != nil {
		return 0, errors.New("not an amount of money")
	}
	c := Cents(u*100 + p)
	if negative {
		c = -c
	}
	return c, nil
}

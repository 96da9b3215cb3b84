package config

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Size is a number of bytes that is written as 256KiB or 16MiB.
type Size int64

// sizeUnits are the units of a Size, the largest first.
var sizeUnits = []struct {
	name  string
	bytes Size
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// ParseSize reads whole bytes, KiB, MiB or GiB.
func ParseSize(s string) (Size, error) {
	for _, unit := range sizeUnits {
		digits, ok := strings.CutSuffix(s, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil {
			break
		}
		return Size(n) * unit.bytes, nil
	}
	return 0, fmt.Errorf("%q is not a size: write 512B, 256KiB or 16MiB", s)
}

// String writes s in the largest unit that divides it.
func (s Size) String() string {
	for _, unit := range sizeUnits {
		if s >= unit.bytes && s%unit.bytes == 0 {
			return strconv.FormatInt(int64(s/unit.bytes), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// UnmarshalYAML reads a scalar.
func (s *Size) UnmarshalYAML(node *yaml.Node) error {
	v, err := ParseSize(node.Value)
	if err != nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %v", node.Line, err)}} // so that the rest is read on
	}
	*s = v
	return nil
}

// MarshalYAML writes what UnmarshalYAML reads.
func (s Size) MarshalYAML() (any, error) { return s.String(), nil }

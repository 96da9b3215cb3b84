package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Duration is a time.Duration that is written as in Go, or in whole days: 30d.
type Duration time.Duration

// ParseDuration reads "1h30m" or "30d". Negative durations are refused.
func ParseDuration(s string) (Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration: write whole days as 30d, else hours, minutes and seconds as 1h30m", s)
		}
		return Duration(time.Duration(n) * 24 * time.Hour), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration: write 30s, 5m, 1h30m or 30d", s)
	}
	return Duration(d), nil
}

// String writes whole days as "30d", everything else as Go does.
func (d Duration) String() string {
	const day = Duration(24 * time.Hour)
	if d != 0 && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return time.Duration(d).String()
}

// UnmarshalYAML reads a scalar.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	v, err := ParseDuration(node.Value)
	if err != nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %v", node.Line, err)}} // so that the rest is read on
	}
	*d = v
	return nil
}

// MarshalYAML writes what UnmarshalYAML reads.
func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }

package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Effective returns c as YAML, without its secrets.
func (c Config) Effective() (string, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("config: write the effective settings: %w", err)
	}
	return string(text), nil
}

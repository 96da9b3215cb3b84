package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Input is where the settings come from.
type Input struct {
	Path    string            // the YAML file; "" for none
	Environ []string          // as os.Environ gives it
	Flags   map[string]string // by setting, e.g. "server.listen"
}

// Need says which settings a command cannot do without.
type Need int

// Needs of the commands.
const (
	ForServe   Need = iota // everything
	ForMigrate             // the console's own database
)

// Load reads the settings and validates them for what need says. The error
// joins all problems. The warnings are no problems, but worth a line in the
// log.
func Load(in Input, need Need) (Config, []string, error) {
	c := Default()
	var fileErr error
	if in.Path != "" {
		fileErr = readFile(in.Path, &c)
	}
	warnings, err := overlay(&c, in.Environ, in.Flags)
	c.fill()
	if !errors.Is(fileErr, errUnread) { // else every setting would be missing
		err = errors.Join(err, c.validate(need))
	}
	err = errors.Join(fileErr, err)
	if err != nil {
		return c, warnings, err
	}
	return c, append(warnings, c.unused()...), nil
}

// errUnread says that nothing of the file could be taken.
var errUnread = errors.New("read the configuration file")

func readFile(path string, c *Config) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnread, err)
	}
	return Parse(path, text, c)
}

// Parse reads text, the YAML of the file called name, over c. An unknown key
// is an error that names its line.
func Parse(name string, text []byte, c *Config) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	err := decoder.Decode(c)
	if errors.Is(err, io.EOF) { // an empty file sets nothing
		return nil
	}
	if err != nil {
		return explain(name, err)
	}
	if err := decoder.Decode(new(Config)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more than one YAML document: keep one, the others would be ignored", name)
	}
	return nil
}

var (
	unknownKey   = regexp.MustCompile(`^(line \d+): field (\S+) not found in type config\.(\w+)$`)
	duplicateKey = regexp.MustCompile(`^(line \d+): mapping key "([^"]*)" already defined at (line \d+)$`)
	wrongType    = regexp.MustCompile("^(line \\d+): cannot unmarshal !!(\\w+)(?: `[^`]*`)? into (\\S+)$")
)

// explain turns the YAML package's errors into sentences about the file. A
// value is never repeated: it may be a secret.
func explain(name string, err error) error {
	var typed *yaml.TypeError
	if !errors.As(err, &typed) {
		return fmt.Errorf("%w: %s: %s", errUnread, name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var all []error
	for _, line := range typed.Errors {
		all = append(all, fmt.Errorf("%s: %s", name, sentence(line)))
	}
	return errors.Join(all...)
}

func sentence(line string) string {
	if m := unknownKey.FindStringSubmatch(line); m != nil {
		return fmt.Sprintf("%s: unknown key %q in %s", m[1], m[2], sectionOf(m[3]))
	}
	if m := duplicateKey.FindStringSubmatch(line); m != nil {
		return fmt.Sprintf("%s: key %q is there already at %s", m[1], m[2], m[3])
	}
	if m := wrongType.FindStringSubmatch(line); m != nil {
		return fmt.Sprintf("%s: a %s stands where %s belongs", m[1], yamlName(m[2]), goName(m[3]))
	}
	return line
}

// sectionOf names a struct as its users know it: KeySpace is key_space.
func sectionOf(goType string) string {
	if goType == "Config" {
		return "the file's top level"
	}
	var b strings.Builder
	for i, r := range goType {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

func yamlName(tag string) string {
	switch tag {
	case "seq":
		return "list"
	case "map":
		return "group of keys"
	case "str":
		return "text"
	}
	return tag
}

func goName(t string) string {
	switch {
	case strings.HasPrefix(t, "[]"):
		return "a list"
	case strings.HasPrefix(t, "config.") && t != "config.Secret":
		return "a group of keys"
	case t == "bool":
		return "true or false"
	case t == "int", t == "float64":
		return "a number"
	}
	return "a text"
}

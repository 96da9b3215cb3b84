package config

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// prefix is what the console's environment variables start with.
const prefix = "DLO_"

// setting is one scalar of the configuration with the names that reach it.
type setting struct {
	path  string // "server.listen", "brokers.pay.url"
	value reflect.Value
}

// env is the variable that sets it: DLO_BROKERS_PAY_URL.
func (s setting) env() string {
	up := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}
	return prefix + strings.Map(up, s.path)
}

// Settings returns the paths of all scalars that a flag can set: all but those
// of lists, whose elements only the file makes.
func Settings() []string {
	c := Default()
	var paths []string
	for _, s := range settingsOf(&c) {
		paths = append(paths, s.path)
	}
	return paths
}

// overlay sets what the environment and the flags say over c. The elements of
// lists are reached by their names and must stand in the file.
func overlay(c *Config, environ []string, flags map[string]string) (warnings []string, err error) {
	var problems []string
	env := variables(environ)
	known := map[string]bool{}
	for _, s := range settingsOf(c) {
		known[s.env()], known[s.env()+"_FILE"] = true, true
		text, from, ok, problem := s.given(env, flags)
		if problem != "" {
			problems = append(problems, problem)
			continue
		}
		if !ok {
			continue
		}
		if err := assign(s.value, text); err != nil {
			problems = append(problems, from+": "+err.Error())
		}
	}
	for name := range env {
		if !known[name] && !strings.HasPrefix(name, prefix+"TEST_") && name != prefix+"CONFIG" {
			warnings = append(warnings, name+" sets nothing: no setting has this name")
		}
	}
	slices.Sort(warnings)
	if len(problems) > 0 {
		return warnings, fmt.Errorf("%s", strings.Join(problems, "\n"))
	}
	return warnings, nil
}

// given returns what was said of s, the flag before the variable, and by whom.
func (s setting) given(env, flags map[string]string) (text, from string, ok bool, problem string) {
	if v, ok := flags[s.path]; ok {
		return v, "--" + s.path, true, ""
	}
	value, hasValue := env[s.env()]
	path, hasFile := env[s.env()+"_FILE"]
	switch {
	case hasValue && hasFile:
		return "", "", false, fmt.Sprintf("%s and %s_FILE are both set: keep one", s.env(), s.env())
	case hasFile:
		content, err := os.ReadFile(path)
		if err != nil {
			return "", "", false, fmt.Sprintf("%s_FILE: %v", s.env(), err)
		}
		return strings.TrimRight(string(content), "\r\n"), s.env() + "_FILE", true, ""
	}
	return value, s.env(), hasValue, ""
}

func variables(environ []string) map[string]string {
	env := map[string]string{}
	for _, line := range environ {
		if name, value, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, prefix) {
			env[name] = value
		}
	}
	return env
}

// settingsOf lists the scalars of c, those of named list elements included.
func settingsOf(c *Config) []setting {
	var all []setting
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		switch {
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
				walk(strings.TrimPrefix(path+"."+tag, "."), v.Field(i))
			}
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
			for i := range v.Len() {
				name := v.Index(i).FieldByName("Name")
				if !name.IsValid() || name.String() == "" {
					continue
				}
				walk(path+"."+name.String(), v.Index(i))
				all = slices.DeleteFunc(all, func(s setting) bool { return s.value == name })
			}
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.String, v.Kind() != reflect.Slice:
			all = append(all, setting{path, v})
		}
	}
	walk("", reflect.ValueOf(c).Elem())
	return all
}

// assign sets v from text: lists are separated by commas.
func assign(v reflect.Value, text string) error {
	switch v.Interface().(type) {
	case Duration:
		d, err := ParseDuration(text)
		v.Set(reflect.ValueOf(d))
		return err
	case Size:
		n, err := ParseSize(text)
		v.Set(reflect.ValueOf(n))
		return err
	case bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(b)
		return nil
	}
	if v.Kind() == reflect.Slice {
		list := reflect.MakeSlice(v.Type(), 0, 1)
		for part := range strings.SplitSeq(text, ",") {
			item := reflect.New(v.Type().Elem()).Elem()
			item.SetString(strings.TrimSpace(part))
			list = reflect.Append(list, item)
		}
		v.Set(list)
		return nil
	}
	v.SetString(text)
	return nil
}

package config

import (
	"log/slog"
	"net/url"
	"regexp"
)

// Secret is a setting that may hold a password, mostly a URL. However it is
// printed, logged or marshalled, it shows itself without it.
type Secret string

// hidden stands where a password was.
const hidden = "xxxxx"

// dsnPassword finds the password of a key=value connection string.
var dsnPassword = regexp.MustCompile(`(?i)(password|passfile|sslpassword)\s*=\s*('[^']*'|\S+)`)

// Reveal returns the setting as it was given. Only what opens a connection
// calls it.
func (s Secret) Reveal() string { return string(s) }

// String returns the setting without its password. What is neither a URL nor
// a connection string is hidden whole.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	if u, err := url.Parse(string(s)); err == nil && u.Scheme != "" && u.Host != "" {
		return redactURL(u)
	}
	if dsnPassword.MatchString(string(s)) {
		return dsnPassword.ReplaceAllString(string(s), "$1="+hidden)
	}
	return hidden
}

// redactURL hides the password and every query value: tokens travel there.
func redactURL(u *url.URL) string {
	clean := *u
	if _, has := u.User.Password(); has {
		clean.User = url.UserPassword(u.User.Username(), hidden)
	}
	query := clean.Query()
	for name := range query {
		if name != "sslmode" && name != "search_path" {
			query.Set(name, hidden)
		}
	}
	clean.RawQuery = query.Encode()
	return clean.String()
}

// GoString keeps %#v from showing the password.
func (s Secret) GoString() string { return s.String() }

// LogValue keeps slog from showing the password.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalYAML keeps the effective configuration free of passwords.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

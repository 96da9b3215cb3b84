package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// problems collects what is wrong, each with the setting's path.
type problems []error

func (p *problems) add(path, format string, args ...any) {
	*p = append(*p, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
}

func (p *problems) required(path, value string) bool {
	if value == "" {
		p.add(path, "is required")
	}
	return value != ""
}

// oneOf complains unless value is one of the allowed words.
func (p *problems) oneOf(path, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		p.add(path, "%q is not one of %s", value, strings.Join(allowed, ", "))
	}
}

// url complains unless value is an absolute URL of one of the schemes. The
// value is not repeated: it may hold a password.
func (p *problems) url(path string, value Secret, schemes ...string) {
	u, err := url.Parse(value.Reveal())
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		p.add(path, "is not a URL that starts with %s://", strings.Join(schemes, ":// or "))
	}
}

// Bounds of display.body_inline.
const (
	minBodyInline Size = 1 << 10
	maxBodyInline Size = 4 << 20
)

// Bounds of brokers[].frame_max: what brokers agree to anyway, and what a header
// may take while it is read.
const (
	minFrameMax Size = 128 << 10
	maxFrameMax Size = 64 << 20
)

func (c Config) validate(need Need) error {
	var p problems
	if p.required("database.url", c.Database.URL.Reveal()) {
		p.postgres("database.url", c.Database.URL)
	}
	p.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	p.oneOf("log.format", c.Log.Format, "text", "json")
	if need == ForServe {
		c.validateServer(&p)
		if c.Display.BodyInline < minBodyInline || c.Display.BodyInline > maxBodyInline {
			p.add("display.body_inline", "%s is not between %s and %s: a browser has to draw it", c.Display.BodyInline, minBodyInline, maxBodyInline)
		}
		c.validateRedis(&p)
		c.validateBrokers(&p)
		c.validateSpaces(&p)
		c.validateDatabases(&p)
		c.validateSources(&p)
	}
	return errors.Join(p...)
}

func (p *problems) postgres(path string, value Secret) {
	if strings.Contains(value.Reveal(), "://") {
		p.url(path, value, "postgres", "postgresql")
	}
}

func (c Config) validateServer(p *problems) {
	s := c.Server
	p.listen("server.listen", s.Listen)
	p.listen("server.metrics_listen", s.MetricsListen)
	if s.Listen == s.MetricsListen && !strings.HasSuffix(s.Listen, ":0") {
		p.add("server.metrics_listen", "is the same as server.listen: metrics and health have an address of their own")
	}
	if !strings.HasPrefix(s.BasePath, "/") || strings.ContainsAny(s.BasePath, "?#\\ ") || strings.Contains(s.BasePath, "//") {
		p.add("server.base_path", "%q does not start with / or holds what no path may", s.BasePath)
	}
	p.url("server.external_url", Secret(s.ExternalURL), "http", "https")
	p.oneOf("environment.color", c.Environment.Color, "grey", "green", "blue", "amber", "red", "violet")
	p.required("environment.name", c.Environment.Name)
	switch c.Auth.Mode {
	case "none":
		if !s.InsecureListen && !loopback(s.Listen) {
			p.add("server.listen", "%s is reached from other machines, and auth.mode is none: everybody there could replay payments. "+
				"Listen on 127.0.0.1, or set server.insecure_listen: true if a proxy in front asks who they are", s.Listen)
		}
	case "local", "proxy", "oidc":
		p.add("auth.mode", "%s is not built yet in this version: use none, on a loopback address", c.Auth.Mode)
	default:
		p.oneOf("auth.mode", c.Auth.Mode, "none", "local", "proxy", "oidc")
	}
	if c.Replay.OutcomeTimeout == 0 {
		p.add("replay.outcome_timeout", "must be longer than the consumers' whole retry ladder")
	}
}

func (p *problems) listen(path, address string) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		p.add(path, "%q is not an address: write host:port, as 127.0.0.1:8080", address)
	}
}

// loopback reports that only this machine reaches address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c Config) validateRedis(p *problems) {
	p.oneOf("redis.mode", c.Redis.Mode, "single", "sentinel", "cluster")
	for i, u := range c.Redis.URLs {
		p.url(fmt.Sprintf("redis.urls[%d]", i), u, "redis", "rediss", "unix")
	}
	if len(c.Redis.URLs) > 1 && c.Redis.Mode == "single" {
		p.add("redis.urls", "has %d entries, and redis.mode is single: name one, or set the mode to sentinel or cluster", len(c.Redis.URLs))
	}
	if len(c.Redis.URLs) == 0 && len(c.KeySpaces) > 0 {
		p.add("redis.urls", "is required, because key_spaces names keys in it")
	}
}

func (c Config) validateBrokers(p *problems) {
	if len(c.Brokers) == 0 {
		p.add("brokers", "names none: at least one is needed")
	}
	seen := map[string]bool{}
	for i, b := range c.Brokers {
		path := p.name("brokers", i, b.Name, seen)
		if p.required(path+".url", b.URL.Reveal()) {
			p.url(path+".url", b.URL, "amqp", "amqps")
		}
		if b.ManagementURL != "" {
			p.url(path+".management_url", b.ManagementURL, "http", "https")
		}
		if b.FrameMax < minFrameMax || b.FrameMax > maxFrameMax {
			p.add(path+".frame_max", "%s is not between %s and %s", b.FrameMax, minFrameMax, maxFrameMax)
		}
	}
}

// nameForm is what a name may be: it travels in URLs, labels and variables.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// name checks the name of a list's element and returns the element's path.
func (p *problems) name(list string, i int, name string, seen map[string]bool) string {
	path := fmt.Sprintf("%s[%d]", list, i)
	if name == "" {
		p.add(path+".name", "is required")
		return path
	}
	path = list + "." + name
	if !nameForm.MatchString(name) {
		p.add(path+".name", "may hold letters, digits, . _ and - only, and at most 63")
	}
	if seen[name] {
		p.add(path, "stands in the list twice")
	}
	seen[name] = true
	return path
}

func (c Config) validateSpaces(p *problems) {
	seen := map[string]bool{}
	for i, k := range c.KeySpaces {
		path := p.name("key_spaces", i, k.Name, seen)
		p.oneOf(path+".style", k.Style, "flag", "lock", "status", "hash")
		if k.TTL == 0 && k.Style != "hash" {
			p.add(path+".ttl", "is required for style %s: the age of a key is worked out from it, and a key of unknown age is never released", k.Style)
		}
		if n := strings.Count(k.Pattern, "{business_key}"); n != 1 {
			p.add(path+".pattern", "holds {business_key} %d times, and must hold it once", n)
		} else if k.Pattern == "{business_key}" {
			p.add(path+".pattern", "is {business_key} alone, so that every key of Redis would be taken for one of this space")
		}
	}
}

func (c Config) validateDatabases(p *problems) {
	seen := map[string]bool{}
	for i, d := range c.BusinessDatabases {
		path := p.name("business_databases", i, d.Name, seen)
		if p.required(path+".url", d.URL.Reveal()) {
			p.postgres(path+".url", d.URL)
		}
	}
}

// unused names what is configured and does nothing in this version, so that
// nobody relies on it.
func (c Config) unused() []string {
	var w []string
	if len(c.Alerts.Alertmanager.URLs)+len(c.Alerts.Webhooks)+len(c.Alerts.Rules) > 0 {
		w = append(w, "alerts: this version evaluates and sends none; have Prometheus watch dlo_depth_messages")
	}
	if d := c.DuplicateRatio; d.Source != "redis" || d.Query != "" || len(d.URLs) > 0 {
		w = append(w, "duplicate_ratio: this version does not read it")
	}
	if c.Retention != Default().Retention {
		w = append(w, "retention: this version deletes nothing")
	}
	return w
}

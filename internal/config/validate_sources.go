package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/theory/jsonpath"
)

func (c Config) validateSources(p *problems) {
	if len(c.Sources) == 0 {
		p.add("sources", "names none: at least one terminal queue is needed")
	}
	seen := map[string]bool{}
	queues := map[string]string{}
	for i, s := range c.Sources {
		path := p.name("sources", i, s.Name, seen)
		p.required(path+".queue", s.Queue)
		if len(s.Queue) > 255 {
			p.add(path+".queue", "is longer than the 255 bytes that AMQP allows")
		}
		if other, taken := queues[s.Broker+"\x00"+s.Queue]; taken && s.Queue != "" {
			p.add(path+".queue", "%s is drained by source %s already", s.Queue, other)
		}
		queues[s.Broker+"\x00"+s.Queue] = s.Name
		if !slices.ContainsFunc(c.Brokers, func(b Broker) bool { return b.Name == s.Broker }) {
			p.add(path+".broker", "there is no broker named %q", s.Broker)
		}
		if s.OriginalQueue == s.Queue && s.Queue != "" {
			p.add(path+".original_queue", "is the terminal queue itself: a replay would come straight back")
		}
		if s.RunbookURL != "" {
			p.url(path+".runbook_url", Secret(s.RunbookURL), "http", "https")
		}
		p.oneOf(path+".route", s.Route, "auto", "queue", "exchange", "replay_exchange")
		p.oneOf(path+".terminal", s.Terminal, "auto", "confirmed")
		s.FailureHeaders.validate(path+".failure_headers", p)
		c.validateKeysOf(s, path, p)
		c.validateGuardsOf(s, path, p)
	}
}

func (h FailureHeaders) validate(path string, p *problems) {
	names := map[string]string{}
	for _, f := range []struct{ setting, name string }{
		{"type", h.Type}, {"message", h.Message}, {"stack", h.Stack}, {"retries", h.Retries}, {"queue", h.Queue}, {"time", h.Time},
	} {
		if f.name == "" {
			continue
		}
		if len(f.name) > 255 {
			p.add(path+"."+f.setting, "is longer than the 255 bytes that AMQP allows for the name of a header")
		}
		if other, taken := names[f.name]; taken {
			p.add(path+"."+f.setting, "is the header of %s already", other)
		}
		names[f.name] = f.setting
	}
}

// Properties of a message that can hold a business key.
var keyProperties = []string{"message_id", "correlation_id", "type", "app_id"}

func (c Config) validateKeysOf(s Source, path string, p *problems) {
	if len(s.BusinessKey) == 0 && len(s.IdempotencyKeys)+len(s.Guards) > 0 {
		p.add(path+".business_key", "is required, because idempotency_keys and guards are looked up by it")
	}
	for i, f := range s.BusinessKey {
		at := fmt.Sprintf("%s.business_key[%d]", path, i)
		if countSet(f.Body, f.Header, f.Property) != 1 {
			p.add(at, "must hold one of body, header and property")
			continue
		}
		if f.Property != "" {
			p.oneOf(at+".property", f.Property, keyProperties...)
		}
		if f.Body != "" {
			if _, err := jsonpath.Parse(f.Body); err != nil {
				p.add(at+".body", "%q is not a JSON path: %v", f.Body, err)
			}
		}
	}
	for i, u := range s.IdempotencyKeys {
		if !slices.ContainsFunc(c.KeySpaces, func(k KeySpace) bool { return k.Name == u.Space }) {
			p.add(fmt.Sprintf("%s.idempotency_keys[%d].space", path, i), "there is no key space named %q", u.Space)
		}
	}
}

func countSet(values ...string) int {
	n := 0
	for _, v := range values {
		if v != "" {
			n++
		}
	}
	return n
}

func (c Config) validateGuardsOf(s Source, path string, p *problems) {
	kinds := map[string]bool{}
	for i, g := range s.Guards {
		at := fmt.Sprintf("%s.guards[%d]", path, i)
		p.required(at+".name", g.Name)
		p.oneOf(at+".kind", g.Kind, "state", "effect")
		if kinds[g.Kind] {
			p.add(at+".kind", "there is a guard of kind %s already; a source has at most one of each", g.Kind)
		}
		kinds[g.Kind] = true
		if !slices.ContainsFunc(c.BusinessDatabases, func(d BusinessDatabase) bool { return d.Name == g.Database }) {
			p.add(at+".database", "there is no business database named %q", g.Database)
		}
		if !strings.Contains(g.Query, "$1") {
			p.add(at+".query", "does not use $1, the business key")
		}
		if g.Kind == "state" && (len(g.From) == 0 || len(g.Done) == 0) {
			p.add(at, "a guard of kind state needs from (what lets a message pass) and done (what says that it happened)")
		}
		if g.Kind == "effect" && len(g.From)+len(g.Done) > 0 {
			p.add(at, "from and done belong to guards of kind state")
		}
	}
}

package main

import (
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/config"
	"github.com/seed-d2bf649b/dead-letter-office/internal/dlq"
	"github.com/seed-d2bf649b/dead-letter-office/internal/keys"
	"github.com/seed-d2bf649b/dead-letter-office/internal/replay"
)

// Settings in the domain's own types: packages know nothing of the file.

func sourceOf(s config.Source) dlq.Source {
	out := dlq.Source{Name: s.Name, Broker: s.Broker, Queue: s.Queue, RunbookURL: s.RunbookURL, Terminal: s.Terminal == "confirmed"}
	out.FailureHeaders = dlq.FailureHeaders(s.FailureHeaders)
	if s.OriginalQueue != "auto" {
		out.OriginalQueue = s.OriginalQueue
	}
	for _, f := range s.BusinessKey {
		out.BusinessKey = append(out.BusinessKey, dlq.KeyFinder(f))
	}
	return out
}

func sourcesOf(c config.Config) []dlq.Source {
	var all []dlq.Source
	for _, s := range c.Sources {
		all = append(all, sourceOf(s))
	}
	return all
}

func spacesOf(c config.Config) []keys.Space {
	var all []keys.Space
	for _, k := range c.KeySpaces {
		all = append(all, keys.Space{
			Name: k.Name, Pattern: k.Pattern, Style: keys.Style(k.Style), TTL: time.Duration(k.TTL),
			StuckAfter: time.Duration(k.StuckAfter), FailedRetakes: k.FailedRetakes,
		})
	}
	return all
}

func plansOf(c config.Config) []replay.Plan {
	var all []replay.Plan
	for _, s := range c.Sources {
		plan := replay.Plan{Source: sourceOf(s), Broker: s.Broker, Route: replay.Route(s.Route)}
		for _, u := range s.IdempotencyKeys {
			plan.Spaces = append(plan.Spaces, u.Space)
		}
		for _, g := range s.Guards {
			plan.Guards = append(plan.Guards, replay.Guard(g))
		}
		all = append(all, plan)
	}
	return all
}

func namesOf(sources []config.Source) []string {
	var names []string
	for _, s := range sources {
		names = append(names, s.Name)
	}
	return names
}

func spaceNames(c config.Config) []string {
	var names []string
	for _, k := range c.KeySpaces {
		names = append(names, k.Name)
	}
	return names
}

func reveal(secrets []config.Secret) []string {
	var all []string
	for _, s := range secrets {
		all = append(all, s.Reveal())
	}
	return all
}

package e2e

import (
	"net/url"
	"strings"
	"testing"
)

// The shapes of the API that the tests read; product.md §3 has them all.

type message struct {
	ID               string  `json:"id"`
	Source           string  `json:"source"`
	State            string  `json:"state"`
	Round            int     `json:"round"`
	BusinessKey      *string `json:"business_key"`
	Reason           string  `json:"reason"`
	RetryCount       *int    `json:"retry_count"`
	RetryCountSource *string `json:"retry_count_source"`
	BodySize         int     `json:"body_size"`
	BodySHA256       string  `json:"body_sha256"`
	PossibleCopy     bool    `json:"possible_copy"`
	Failure          struct {
		Type      *string `json:"type"`
		Message   *string `json:"message"`
		Extractor *string `json:"extractor"`
	} `json:"failure"`
	Original struct {
		Queue *string `json:"queue"`
	} `json:"original"`
}

type messageList struct {
	Items []message `json:"items"`
	Next  *string   `json:"next_cursor"`
}

type guardAnswer struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Says  string `json:"says"`
	Key   string `json:"key"`
	State string `json:"state"`
}

type preflight struct {
	Verdict     string        `json:"verdict"`
	Guards      []guardAnswer `json:"guards"`
	Destination struct {
		Route string `json:"route"`
		Queue string `json:"queue"`
	} `json:"destination"`
}

type keyReading struct {
	Key        string   `json:"key"`
	Seen       string   `json:"seen"`
	Space      string   `json:"space"`
	State      string   `json:"state"`
	Stuck      bool     `json:"stuck"`
	AgeSeconds *float64 `json:"age_seconds"`
}

type replayAnswer struct {
	ReplayID string `json:"replay_id"`
	Attempt  string `json:"attempt"`
	Outcome  string `json:"outcome"`
	Detail   string `json:"detail"`
}

type replayItem struct {
	MessageID     string  `json:"message_id"`
	Attempt       string  `json:"attempt"`
	Outcome       *string `json:"outcome"`
	OutcomeSource *string `json:"outcome_source"`
}

type auditEntry struct {
	Actor  string `json:"actor"`
	Act    string `json:"act"`
	Object string `json:"object"`
	Reason string `json:"reason"`
	Result string `json:"result"`
}

type problem struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Status int    `json:"status"`
}

// dead returns the one message with the given business key, nil where there is
// none. Two are a failure: nothing may be twice in the store.
func (c *console) dead(t *testing.T, businessKey string) *message {
	t.Helper()
	var found *message
	for _, m := range c.all(t, "") {
		if m.BusinessKey == nil || *m.BusinessKey != businessKey {
			continue
		}
		if found != nil {
			t.Fatalf("%s is in the store twice: %s and %s", businessKey, found.ID, m.ID)
		}
		found = &m
	}
	return found
}

// all returns every message in the given state, all states where it is "".
func (c *console) all(t *testing.T, state string) []message {
	t.Helper()
	var list messageList
	c.get(t, "/messages?limit=500&state="+state, &list)
	if list.Next != nil {
		t.Fatalf("more messages than the test reads")
	}
	return list.Items
}

// key reads one idempotency key.
func (c *console) key(t *testing.T, name string) keyReading {
	t.Helper()
	var k keyReading
	c.get(t, "/keys?key="+url.QueryEscape(name), &k)
	return k
}

// auditOf returns the audit's entries about objects whose text holds part.
func (c *console) auditOf(t *testing.T, part string) []auditEntry {
	t.Helper()
	var list struct {
		Items []auditEntry `json:"items"`
	}
	c.get(t, "/audit?limit=500", &list)
	var out []auditEntry
	for _, e := range list.Items {
		if strings.Contains(e.Object, part) {
			out = append(out, e)
		}
	}
	return out
}

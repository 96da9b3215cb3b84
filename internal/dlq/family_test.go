package dlq

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// familyCase is one delivery of a framework, what it tells, and what a replay
// of it sends.
type familyCase struct {
	name       string
	queue      string // the terminal queue
	headers    rabbit.Table
	properties rabbit.Properties
	body       string
	want       Facts
	unit       unitCase
}

// unitCase is Unit, as far as it differs from what died; nil headers and
// properties and an empty body stand for what died, less what was removed.
type unitCase struct {
	removed, edits, warnings, consents []string
	problem                            string
	body                               string
	headers                            rabbit.Table
	properties                         *rabbit.Properties
}

func testFamily(t *testing.T, name string, cases []familyCase) {
	t.Parallel()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, name)
		})
	}
}

func (c familyCase) check(t *testing.T, family string) {
	d := rabbit.Delivery{Headers: c.headers, Properties: c.properties, Body: []byte(c.body)}
	before, err := rabbit.EncodeTable(d.Headers)
	if err != nil {
		t.Fatal(err)
	}
	facts := Extract(d, Source{Queue: c.queue}, arrival)
	if diff := cmp.Diff(c.want, facts); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	u := UnitOf(Life{Headers: c.headers, Properties: c.properties, Facts: facts}, d.Body, arrival)
	if u.Family != family {
		t.Errorf("family %q, want %q", u.Family, family)
	}
	got := unitCase{u.Removed, u.Edits, u.Warnings, u.Consents, u.Problem, string(u.Body), u.Headers, &u.Properties}
	if diff := cmp.Diff(c.wanted(), got, cmp.AllowUnexported(unitCase{})); diff != "" {
		t.Errorf("unit (-want +got):\n%s", diff)
	}
	if after, _ := rabbit.EncodeTable(d.Headers); string(after) != string(before) {
		t.Errorf("the stored headers changed:\n%s\n%s", before, after)
	}
}

// wanted completes the unit of c by what died.
func (c familyCase) wanted() unitCase {
	u := c.unit
	if u.body == "" {
		u.body = c.body
	}
	if u.properties == nil {
		u.properties = &c.properties
	}
	if u.headers == nil {
		u.headers = rabbit.Table{}
		maps.Copy(u.headers, c.headers)
		for _, name := range u.removed {
			delete(u.headers, name)
		}
	}
	return u
}

// an hour ago, as frameworks write it.
var (
	hourAgo   = arrival.Add(-time.Hour)
	isoHour   = "2026-03-01T02:10:00.1234567Z"
	atIsoHour = time.Date(2026, 3, 1, 2, 10, 0, 123456700, time.UTC)
)

func unixMilli(n int64) time.Time { return time.UnixMilli(n).UTC() }

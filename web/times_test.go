package web

import (
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/web/internal/sample"
)

func TestTimesInWords(t *testing.T) {
	t.Parallel()
	texts, err := loadCatalogue()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		lang string
		age  time.Duration
		want string
	}{
		{"en", 0, "just now"},
		{"en", 4 * time.Second, "just now"},
		{"en", 5 * time.Second, "5 s ago"},
		{"en", 59 * time.Second, "59 s ago"},
		{"en", 4*time.Minute + 59*time.Second, "4 min ago"},
		{"en", 3*time.Hour + 12*time.Minute, "3 h ago"},
		{"en", 49 * time.Hour, "2 d ago"},
		{"en", -90 * time.Second, "in 1 min 30 s"},
		{"zh-CN", 4 * time.Minute, "4 分钟前"},
		{"zh-CN", -time.Hour, "1 小时后"},
	} {
		c := clock{now: sample.Now, words: texts.in(tt.lang)}
		if got := c.ago(sample.Now.Add(-tt.age)).Text; got != tt.want {
			t.Errorf("%s: %v ago is %q, want %q", tt.lang, tt.age, got, tt.want)
		}
	}
	c := clock{now: sample.Now, words: texts.in("en")}
	for d, want := range map[time.Duration]string{
		0: "under 1 s", 22 * time.Minute: "22 min", 23*time.Hour + 38*time.Minute + 9*time.Second: "23 h 38 min", 24 * time.Hour: "1 d", 24*time.Hour + time.Minute: "1 d",
	} {
		if got := c.span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
	if got := c.ago(time.Time{}); got != (stamp{}) {
		t.Errorf("an unknown time is %+v", got)
	}
	if got := c.at(sample.Now.Add(-24 * time.Hour)).Text; got != "27 Sep 2026, 03:13:07" {
		t.Errorf("yesterday is %q", got)
	}
	c.absolute = true
	if got := c.ago(sample.Now.Add(-4 * time.Minute).UTC()).Text; got != "03:09:07" {
		t.Errorf("as a clock time it is %q", got)
	}
}

func TestZonesAndNumbers(t *testing.T) {
	t.Parallel()
	for offset, want := range map[int]string{0: "UTC", 8 * 3600: "UTC+8", -3600*3 - 1800: "UTC−3:30", 20700: "UTC+5:45"} {
		if got := (clock{now: sample.Now.In(time.FixedZone("", offset))}).zone(); got != want {
			t.Errorf("zone of %d s is %q, want %q", offset, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 18204: "18,204", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := number(n); got != want {
			t.Errorf("number(%d) = %q, want %q", n, got, want)
		}
	}
}

package web

import (
	"strconv"
	"strings"
	"time"
)

// clock turns times into words. Views have one and no other notion of now.
type clock struct {
	now      time.Time
	absolute bool // the reader wants clock times instead of "4 min ago"
	words    words
}

// stamp is a moment as a page shows it.
type stamp struct {
	ISO   string // "" where the moment is not known
	Title string
	Text  string
}

// ago shows t as an age, "4 min ago", or as the reader chose as a clock time.
func (c clock) ago(t time.Time) stamp {
	s := c.at(t)
	if t.IsZero() || c.absolute {
		return s
	}
	if age := c.now.Sub(t); age < 5*time.Second && age > -5*time.Second {
		s.Text = c.words.T("time.now")
	} else if age < 0 {
		s.Text = c.words.T("time.in", "Span", c.span(-age))
	} else {
		s.Text = c.words.T("time.ago", "Span", c.coarse(age))
	}
	return s
}

// at shows t as a clock time, with the day where it is not today.
func (c clock) at(t time.Time) stamp {
	if t.IsZero() {
		return stamp{}
	}
	t = t.In(c.now.Location())
	s := stamp{ISO: t.Format(time.RFC3339), Title: c.full(t), Text: t.Format("15:04:05")}
	if t.YearDay() != c.now.YearDay() || t.Year() != c.now.Year() {
		s.Text = c.full(t)
	}
	return s
}

func (c clock) full(t time.Time) string {
	if c.words.Lang == "zh-CN" {
		return t.Format("2006-01-02 15:04:05")
	}
	return t.Format("2 Jan 2006, 15:04:05")
}

// zone names the location that all clock times are in: "UTC+8".
func (c clock) zone() string {
	_, offset := c.now.Zone()
	if offset == 0 {
		return "UTC"
	}
	sign, minutes := "+", offset/60
	if minutes < 0 {
		sign, minutes = "−", -minutes
	}
	name := "UTC" + sign + strconv.Itoa(minutes/60)
	if rest := minutes % 60; rest != 0 {
		name += ":" + strconv.Itoa(rest)
	}
	return name
}

var spanUnits = []struct {
	length time.Duration
	id     string
}{
	{24 * time.Hour, "time.days"},
	{time.Hour, "time.hours"},
	{time.Minute, "time.minutes"},
	{time.Second, "time.seconds"},
}

// coarse says d in its largest unit: "3 h".
func (c clock) coarse(d time.Duration) string { return c.parts(d, 1) }

// span says d in its two largest units: "3 h 12 min".
func (c clock) span(d time.Duration) string { return c.parts(d, 2) }

func (c clock) parts(d time.Duration, most int) string {
	var said []string
	for _, u := range spanUnits {
		if len(said) == most {
			break
		}
		n := int64(d / u.length)
		d %= u.length
		if n == 0 && len(said) == 0 {
			continue
		}
		if n > 0 {
			said = append(said, c.words.N(u.id, n))
			continue
		}
		break
	}
	if len(said) == 0 {
		return c.words.T("time.under_second")
	}
	return strings.Join(said, " ")
}

// number groups the digits of n by thousands.
func number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// numberOf is number, or a dash where n is not known.
func numberOf(n *int64) string {
	if n == nil {
		return "–"
	}
	return number(*n)
}

package web

import (
	"fmt"
	"strconv"
)

// sparkline is a row of bars, drawn on the server.
type sparkline struct {
	Width int
	Title string
	Bars  []sparkBar
}

type sparkBar struct {
	X, Y, Height string
	Now          bool
}

const (
	sparkHeight = 20
	sparkStep   = 5 // 4 wide, 1 apart
)

// spark draws values, the oldest first; a bar of nothing is a hairline.
func (f frame) spark(source string, values []int64) sparkline {
	s := sparkline{Width: max(len(values)*sparkStep-1, 1)}
	most, total := int64(1), int64(0)
	for _, v := range values {
		most, total = max(most, v), total+v
	}
	for i, v := range values {
		h := max(1, float64(v)/float64(most)*sparkHeight)
		s.Bars = append(s.Bars, sparkBar{
			X: strconv.Itoa(i * sparkStep), Y: trim(sparkHeight - h), Height: trim(h), Now: i == len(values)-1,
		})
	}
	s.Title = f.N("overview.spark", total, "Source", source)
	return s
}

func trim(v float64) string { return strconv.FormatFloat(v, 'f', -1, 32) }

// viewBox is as wide as the bars, so that no style is needed.
func (s sparkline) viewBox() string { return fmt.Sprintf("0 0 %d %d", s.Width, sparkHeight) }

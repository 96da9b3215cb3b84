package dlq

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestDearAnswersServeForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d dear[int]
		asked, cost := 0, time.Duration(0)
		ask := func() (int, error) { asked++; time.Sleep(cost); return asked, nil }
		for _, step := range []struct {
			cost, later time.Duration
			want        int
		}{
			{0, 0, 1},
			{0, 0, 2}, // cheap ones are asked each time
			{20 * time.Millisecond, 0, 3},
			{0, dearShare*20*time.Millisecond - 1, 3},
			{0, 1, 4},
			{time.Minute, 0, 5},
			{0, dearMost - 1, 5},
			{0, 1, 6},
		} {
			time.Sleep(step.later)
			cost = step.cost
			if got, err := d.get(ask); err != nil || got != step.want {
				t.Errorf("%+v: %d (%v)", step, got, err)
			}
		}
		failure := errors.New("no answer")
		if _, err := d.get(func() (int, error) { time.Sleep(time.Minute); return 0, failure }); !errors.Is(err, failure) {
			t.Errorf("%v, want the failure", err)
		}
		if got, _ := d.get(ask); got != 7 {
			t.Errorf("%d after a failure: want it asked anew", got)
		}
	})
}

package config_test

import (
	"strings"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/config"
)

func TestSizesAreReadAndWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.Size{"0B": 0, "512B": 512, "256KiB": 256 << 10, "16MiB": 16 << 20, "1GiB": 1 << 30, "1500B": 1500} {
		got, err := config.ParseSize(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s is %d (%s), %v; want %d", text, got, got, err, want)
		}
	}
	for _, text := range []string{"", "256", "-1KiB", "1.5MiB", "KiB", "256kb", "99999999999999999999GiB"} {
		if got, err := config.ParseSize(text); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}

func TestFrameMaxOfABrokerIsBounded(t *testing.T) {
	t.Parallel()
	for size, ok := range map[string]bool{"128KiB": true, "64MiB": true, "127KiB": false, "65MiB": false} {
		_, _, err := load(t, strings.Replace(whole, "management_url: \"\"", "frame_max: "+size, 1))
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "brokers.pay.frame_max") {
			t.Errorf("%s: %v", size, err)
		}
	}
	c, _, err := load(t, whole)
	if err != nil || c.Brokers[0].FrameMax != 4<<20 {
		t.Errorf("unless it is set: %v, %v; want 4MiB", c.Brokers, err)
	}
}

func TestTheInlineSizeOfBodiesIsBounded(t *testing.T) {
	t.Parallel()
	for size, ok := range map[string]bool{"1KiB": true, "4MiB": true, "512B": false, "5MiB": false, "a lot": false} {
		_, _, err := load(t, whole+"\ndisplay: {body_inline: "+size+"}\n")
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "size") && !strings.Contains(err.Error(), "display.body_inline") {
			t.Errorf("%s: %v", size, err)
		}
	}
	c, _, err := load(t, whole, "DLO_DISPLAY_BODY_INLINE=1MiB")
	if err != nil || c.Display.BodyInline != 1<<20 {
		t.Errorf("from the environment: %s, %v", c.Display.BodyInline, err)
	}
}

package rabbit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestPropertiesSurvive(t *testing.T) {
	t.Parallel()
	tests := map[string]rabbit.Properties{
		"none":                     {},
		"usual":                    {ContentType: "application/json", DeliveryMode: 2, MessageID: "m1", Timestamp: 1700000000},
		"not UTF-8":                {CorrelationID: "\xff"},
		"NUL":                      {AppID: "a\x00"},
		"milliseconds for seconds": {Timestamp: 1 << 62},
		"all": {
			ContentType: "a", ContentEncoding: "b", DeliveryMode: 1, Priority: 255, CorrelationID: "c", ReplyTo: "d",
			Expiration: "5", MessageID: "e", Timestamp: -1, Type: "f", UserID: "g", AppID: "h",
		},
	}
	for name, p := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := rabbit.EncodeProperties(p)
			if err != nil {
				t.Fatal(err)
			}
			got, err := rabbit.DecodeProperties(data)
			if err != nil || got != p {
				t.Errorf("got %+v, %v; want %+v", got, err, p)
			}
		})
	}
}

func TestPairsShowWhatIsPresent(t *testing.T) {
	t.Parallel()
	p := rabbit.Properties{
		ContentType: "text/plain", DeliveryMode: 2, Priority: 3, MessageID: "\xffx", Timestamp: 1700000000, UserID: "guest",
	}
	want := []rabbit.Pair{
		{"content_type", "text/plain"},
		{"delivery_mode", "2 (persistent)"},
		{"priority", "3"},
		{"message_id", `"\xffx"`},
		{"timestamp", "2023-11-14T22:13:20Z"},
		{"user_id", "guest"},
	}
	if diff := cmp.Diff(want, p.Pairs()); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
	far := rabbit.Properties{Timestamp: 1700000000000}
	if diff := cmp.Diff([]rabbit.Pair{{"timestamp", "1700000000000"}}, far.Pairs()); diff != "" {
		t.Errorf("pairs of a time that is no year (-want +got):\n%s", diff)
	}
}

func FuzzProperties(f *testing.F) {
	f.Add("text/plain", "\xff\x00", int64(1), uint8(2))
	f.Fuzz(func(t *testing.T, a, b string, n int64, m uint8) {
		a, b = a[:min(127, len(a))], b[:min(127, len(b))] // AMQP takes 255 bytes
		want := rabbit.Properties{ContentType: a, ReplyTo: b, Type: a + b, Timestamp: n, Priority: m, DeliveryMode: m}
		data, err := rabbit.EncodeProperties(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := rabbit.DecodeProperties(data)
		if err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		want.Pairs()
	})
}

package dlq

import (
	"maps"
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// What a broker counts from one delivery to the next makes no other message of
// it, whether it has other headers or none.
func TestFingerprintLeavesOutWhatTheBrokerCounts(t *testing.T) {
	t.Parallel()
	print := func(h rabbit.Table) fingerprint {
		d := rabbit.Delivery{Headers: h, Body: []byte("a")}
		if len(h) > 0 { // as the broker delivers them
			d.RawHeaders, _ = rabbit.EncodeHeaders(h)
		}
		return prepare(d, paySource, arrival).fingerprint
	}
	for name, h := range map[string]rabbit.Table{"none": {}, "others": {"a": "b", "z": int64(1)}} {
		counted := rabbit.Table{"x-delivery-count": int64(3), "x-acquired-count": int64(4)}
		maps.Copy(counted, h)
		if print(h) != print(counted) {
			t.Errorf("%s: the counts make another message", name)
		}
	}
	// A broker sorts the table when it adds to it.
	sorted := rabbit.Delivery{Headers: rabbit.Table{"a": "b", "z": "y"}, RawHeaders: []byte{0, 0, 0, 16, 1, 'a', 'S', 0, 0, 0, 1, 'b', 1, 'z', 'S', 0, 0, 0, 1, 'y'}}
	other := sorted
	other.RawHeaders = []byte{0, 0, 0, 16, 1, 'z', 'S', 0, 0, 0, 1, 'y', 1, 'a', 'S', 0, 0, 0, 1, 'b'}
	if prepare(sorted, paySource, arrival).fingerprint != prepare(other, paySource, arrival).fingerprint {
		t.Error("the order of headers makes another message")
	}
	if print(rabbit.Table{"a": "b"}) == print(rabbit.Table{"a": "c"}) {
		t.Error("another header makes no other message")
	}
}

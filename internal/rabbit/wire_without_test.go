package rabbit_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestWithoutHeaders(t *testing.T) {
	t.Parallel()
	encode := func(h rabbit.Table) []byte {
		data, err := rabbit.EncodeHeaders(h)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	all := rabbit.Table{"a": rabbit.Table{"x": int64(1)}, "b": "x", "x": []any{nil, true}, "z": int8(3)}
	if got := rabbit.WithoutHeaders(encode(all), "x", "z", "none"); !bytes.Equal(got, encode(rabbit.Table{"a": all["a"], "b": "x"})) {
		t.Errorf("% x", got)
	}
	if got := rabbit.WithoutHeaders(encode(all), "none"); !bytes.Equal(got, encode(all)) {
		t.Errorf("nothing to take off: % x", got)
	}
	for _, broken := range [][]byte{nil, {0}, {0, 0, 0, 9}, {0, 0, 0, 3, 1, 'x', 'L'}, {0, 0, 0, 1, 9}} {
		if diff := cmp.Diff(broken, rabbit.WithoutHeaders(broken, "x")); diff != "" {
			t.Errorf("what cannot be read (-want +got):\n%s", diff)
		}
	}
}

package rabbit

import "testing"

func TestPrefetchFeelsItsWay(t *testing.T) {
	t.Parallel()
	const kB, MB = 1 << 10, 1 << 20
	type step struct {
		held     int
		bytes    int64
		ask      int // what is asked for, and comes
		largest  int64
		received int // 0: all that was asked for
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"small messages: up to the window", []step{
			{0, 0, 1, kB, 0}, {1, kB, 8, kB, 0}, {9, 9 * kB, 64, kB, 0}, {73, 73 * kB, 27, kB, 0}, {100, 100 * kB, 0, 0, 0}, {0, 0, 100, kB, 0},
		}},
		{"large messages: up to the bytes", []step{
			{0, 0, 1, 10 * MB, 0}, {1, 10 * MB, 2, 10 * MB, 0}, {3, 30 * MB, 0, 0, 0}, {0, 0, 3, 10 * MB, 0},
		}},
		{"messages larger than a window come one by one", []step{
			{0, 0, 1, 100 * MB, 0}, {1, 100 * MB, 0, 0, 0}, {0, 0, 1, 100 * MB, 0},
		}},
		{"a quiet queue keeps what was learnt", []step{
			{0, 0, 1, kB, 0}, {1, kB, 8, kB, 2}, {0, 0, 16, kB, 0},
		}},
		{"a large one is remembered, and forgotten slowly", []step{
			{0, 0, 1, 16 * MB, 0}, {0, 0, 2, kB, 0}, {0, 0, 2, kB, 0}, {0, 0, 2, kB, 0}, {0, 0, 2, kB, 0}, {0, 0, 3, kB, 0},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p prefetch
			for i, s := range tt.steps {
				got := p.next(Limits{Messages: 100, Bytes: 32 * MB}, s.held, s.bytes)
				if got != s.ask {
					t.Fatalf("step %d asks for %d; want %d", i, got, s.ask)
				}
				if s.received == 0 {
					s.received = s.ask
				}
				p.saw(s.received, s.largest)
			}
		})
	}
}

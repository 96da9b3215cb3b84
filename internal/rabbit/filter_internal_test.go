package rabbit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/iotest"
)

// stream is a connection on which a broker has sent bytes and no more come.
type stream struct {
	net.Conn
	io.Reader
}

func (s stream) Read(p []byte) (int, error) { return s.Reader.Read(p) }

func filterOver(data []byte) *filter {
	return newFilter(stream{Reader: bytes.NewReader(data)}, DefaultFrameMax)
}

func frame(kind byte, channel uint16, payload string) string {
	head := binary.BigEndian.AppendUint16([]byte{kind}, channel)
	return string(binary.BigEndian.AppendUint32(head, uint32(len(payload)))) + payload + "\xce"
}

func short(s string) string { return string(rune(len(s))) + s }

func long(s string) string { return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s }

func deliver(channel uint16, tag uint64) string {
	payload := "\x00\x3c\x00\x3c" + short("dlo-00") + string(binary.BigEndian.AppendUint64(nil, tag)) + "\x00" + short("x") + short("key")
	return frame(1, channel, payload)
}

// contentHeader is the payload of a content header with flags and properties.
func contentHeader(flags uint16, properties string) string {
	return "\x00\x3c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04" + string(binary.BigEndian.AppendUint16(nil, flags)) + properties
}

// Everything that is not the header table of a delivery.
var (
	otherFrames = frame(8, 0, "") + frame(1, 0, "\x00\x0a\x00\x1e\x07\xff\x00\x02\x00\x00\x00\x3c") +
		frame(1, 1, "") + frame(1, 1, "\x00\x3c\x00\x3c") + frame(1, 1, "\x00\x3c\x00\x3c\xff12345678") + frame(9, 1, "?") +
		frame(2, 1, contentHeader(flagHeaders, long("\x01aV"))) // of no delivery
	openOk = frame(1, 1, "\x00\x14\x00\x0b\x00\x00\x00\x00")
	body   = frame(3, 1, strings.Repeat("body", 5000))
)

func TestFilterTakesOutHeaderTablesAlone(t *testing.T) {
	t.Parallel()
	table := long("\x01aB\x07")
	flags := flagContentType | flagHeaders | flagPriority | flagMessageID | flagTimestamp | flagAppID
	before, after := short("text/plain"), "\x05"+short("id")+"12345678"+short("app")
	big := long(strings.Repeat("\x01aB\x07", 20000))
	in := otherFrames + openOk +
		deliver(1, 1) + frame(2, 1, contentHeader(flags, before+table+after)) + body + body + otherFrames +
		deliver(1, 2) + frame(2, 1, contentHeader(0, "")) + body +
		deliver(1, 3) + frame(2, 7, contentHeader(flagHeaders, table)) + frame(2, 1, contentHeader(flagHeaders, long(""))) + body +
		deliver(1, 5) + frame(2, 1, contentHeader(flagHeaders|flagPriority, big+"\x01")) + body
	want := otherFrames + openOk +
		deliver(1, 1) + frame(2, 1, contentHeader(flags&^flagHeaders, before+after)) + body + body + otherFrames +
		deliver(1, 2) + frame(2, 1, contentHeader(0, "")) + body +
		deliver(1, 3) + frame(2, 7, contentHeader(flagHeaders, table)) + frame(2, 1, contentHeader(0, "")) + body +
		deliver(1, 5) + frame(2, 1, contentHeader(flagPriority, "\x01")) + body
	for name, reader := range map[string]func(io.Reader) io.Reader{
		"as fast as it goes": func(r io.Reader) io.Reader { return r },
		"a byte at a time":   iotest.OneByteReader,
		"halves":             iotest.HalfReader,
		"end with data":      iotest.DataErrReader,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFilter(stream{Reader: reader(strings.NewReader(in))}, DefaultFrameMax)
			got, err := readAll(f, rand.New(rand.NewPCG(1, 2)))
			if err != nil || string(got) != want {
				t.Fatalf("%v; %d bytes differ from %d wanted", err, len(got), len(want))
			}
			for tag, want := range []string{1: table, 2: "", 3: long(""), 4: "", 5: big, 6: ""} {
				if a := f.headers.take(uint64(tag)); string(a.table) != want || a.problem != "" {
					t.Errorf("delivery %d: %d bytes, %q; want %d bytes", tag, len(a.table), a.problem, len(want))
				}
			}
		})
	}
}

// readAll reads until the end in steps of random size.
func readAll(r io.Reader, random *rand.Rand) ([]byte, error) {
	var all []byte
	for {
		p := make([]byte, 1+random.IntN(9000))
		n, err := r.Read(p)
		all = append(all, p[:n]...)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

func TestBrokenPropertiesAreKeptAside(t *testing.T) {
	t.Parallel()
	for name, payload := range map[string]string{
		"table beyond the frame": contentHeader(flagHeaders, "\x00\x00\x00\x09\x01aV"),
		"no table":               contentHeader(flagHeaders, ""),
		"cut off before":         contentHeader(flagContentType|flagHeaders, "\x09text"),
		"cut off behind":         contentHeader(flagHeaders|flagAppID, long("\x01aV")+"\x03ap"),
		"no time":                contentHeader(flagTimestamp, "1234567"),
		"more flags":             contentHeader(1, "\x00\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := filterOver([]byte(deliver(1, 1) + frame(2, 1, payload) + body))
			got, err := io.ReadAll(f)
			if want := deliver(1, 1) + frame(2, 1, contentHeader(0, "")) + body; err != nil || string(got) != want {
				t.Fatalf("got %v and % x; want a header without properties", err, got[:min(100, len(got))])
			}
			if a := f.headers.take(1); string(a.table) != payload[propertiesAt:] || a.problem == "" {
				t.Errorf("kept % x, %q; want the properties, and why", a.table, a.problem)
			}
		})
	}
}

func TestContentHeadersOverTheLimitGoThrough(t *testing.T) {
	t.Parallel()
	in := deliver(1, 1) + frame(2, 1, contentHeader(flagHeaders, long(strings.Repeat("x", 1000))))
	f := newFilter(stream{Reader: strings.NewReader(in)}, 1000)
	if got, err := io.ReadAll(f); err != nil || string(got) != in {
		t.Errorf("%v; want all as it came", err)
	}
	if size := f.outgrown.Load(); size != 1026 {
		t.Errorf("size is %d; want 1026", size)
	}
}

func TestAChannelBeginsWithNoHeadersAside(t *testing.T) {
	t.Parallel()
	f := filterOver([]byte(deliver(1, 1) + frame(2, 1, contentHeader(flagHeaders, long("\x01aV"))) + openOk))
	if _, err := io.ReadAll(f); err != nil {
		t.Fatal(err)
	}
	if a := f.headers.take(1); a.table != nil {
		t.Errorf("the new channel has % x of the old one", a.table)
	}
}

// FuzzFilter sends it anything. What it hands out must be the same however the
// bytes come, and without deliveries it must be what came.
func FuzzFilter(f *testing.F) {
	f.Add([]byte(otherFrames), uint64(1))
	f.Add([]byte(deliver(1, 1)+frame(2, 1, contentHeader(flagHeaders, long("\x01aV")))), uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		at := filterOver(data)
		got, err := io.ReadAll(at)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		slow := newFilter(stream{Reader: iotest.OneByteReader(bytes.NewReader(data))}, DefaultFrameMax)
		again, _ := readAll(slow, rand.New(rand.NewPCG(seed, 0)))
		if !bytes.Equal(got, again) {
			t.Errorf("% x or % x, as the bytes come", got, again)
		}
		if !at.delivery.begun && at.headers.waiting == nil && !bytes.HasPrefix(data, got) {
			t.Errorf("% x became % x", data, got)
		}
	})
}

// BenchmarkFilter is what one delivery of 1 KB with a five-entry history costs.
func BenchmarkFilter(b *testing.B) {
	table, err := EncodeHeaders(Table{"x-death": strings.Repeat("x", 800)})
	if err != nil {
		b.Fatal(err)
	}
	one := deliver(1, 1) + frame(2, 1, contentHeader(flagHeaders|flagDeliveryMode, string(table)+"\x02")) + frame(3, 1, strings.Repeat("b", 1024))
	plain := deliver(1, 1) + frame(2, 1, contentHeader(flagDeliveryMode, "\x02")) + frame(3, 1, strings.Repeat("b", 1024))
	for name, message := range map[string]string{"headers": one, "none": plain} {
		b.Run(name, func(b *testing.B) {
			f := newFilter(stream{Reader: &endless{data: []byte(strings.Repeat(message, 100))}}, DefaultFrameMax)
			p := make([]byte, 4096)
			out := len(plain)
			b.ReportAllocs()
			for left := 0; b.Loop(); {
				for left += out; left >= len(p); left -= len(p) {
					if _, err := io.ReadFull(f, p); err != nil {
						b.Fatal(err)
					}
				}
				f.headers.take(1)
			}
		})
	}
}

// endless repeats data.
type endless struct {
	data []byte
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.data[e.at:])
	if e.at += n; e.at == len(e.data) {
		e.at = 0
	}
	return n, nil
}

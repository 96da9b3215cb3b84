package rabbit

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
)

const (
	// filterBuffer is how much a filter reads from the socket at a time.
	filterBuffer = 64 << 10
	// frameHead is type, channel and size of a frame; one byte comes at its end.
	frameHead = 7
	// deliverHead is as much of a basic.deliver as tells its delivery tag: class,
	// method, consumer tag and tag.
	deliverHead = 4 + 1 + maxShort + 8

	frameMethod = 1
	frameHeader = 2

	methodChannelOpenOk = 20<<16 | 11
	methodDeliver       = 60<<16 | 60
)

// filter stands between the broker and the client library of a consumer. It
// takes the header tables out of deliveries before the library sees them, and
// keeps them aside by delivery tag as the bytes that came. So headers of any
// shape can be read: the library itself gives up the connection where a table is
// larger than a frame (brokers do not split content headers, and add their own
// when a message dies), nests deeper than 32 levels, has more than 8,192
// elements in one place, or is malformed; and then nobody can take that message
// off the queue, nor those behind it.
//
// All else goes through as it is. It serves one channel at a time.
type filter struct {
	net.Conn
	in       *bufio.Reader
	frameMax int // the largest content header to take, as a frame
	headers  *headerQueue

	out  []byte // changed bytes that go on first
	pass int    // how many bytes go on as they are
	room []byte // what out is part of

	delivery struct {
		tag     uint64
		channel uint16
		begun   bool // its content header comes next on its channel
	}
	outgrown atomic.Int64 // the size of a content header over frameMax, once there was one
}

func newFilter(socket net.Conn, frameMax int) *filter {
	return &filter{Conn: socket, in: bufio.NewReaderSize(socket, filterBuffer), frameMax: frameMax, headers: &headerQueue{}}
}

// Read implements net.Conn. It waits only where it has nothing to hand out yet.
func (f *filter) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if n > 0 && !f.ready() {
			return n, nil
		}
		m, err := f.step(p[n:])
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// step hands out bytes that are on their way, or looks at the next frame.
func (f *filter) step(p []byte) (int, error) {
	switch {
	case len(f.out) > 0:
		n := copy(p, f.out)
		f.out = f.out[n:]
		return n, nil
	case f.pass > 0:
		n, err := f.in.Read(p[:min(len(p), f.pass)])
		f.pass -= n
		return n, err
	}
	return 0, f.next()
}

// ready reports whether a step can be made without waiting for the broker.
func (f *filter) ready() bool {
	there := f.in.Buffered()
	if len(f.out) > 0 || (f.pass > 0 && there > 0) {
		return true
	}
	if f.pass > 0 || there < frameHead {
		return false
	}
	head, err := f.in.Peek(frameHead)
	if err != nil {
		return false
	}
	switch size := sizeOf(head); head[0] {
	case frameMethod:
		return there >= frameHead+min(size, deliverHead)
	case frameHeader:
		return there > frameHead+size
	}
	return true
}

// next looks at the head of a frame, and decides what becomes of it.
func (f *filter) next() error {
	head, err := f.in.Peek(frameHead)
	if err != nil {
		return err
	}
	size, channel := sizeOf(head), binary.BigEndian.Uint16(head[1:])
	switch kind := head[0]; {
	case kind == frameMethod && channel > 0:
		if err := f.look(channel, size); err != nil {
			return err
		}
	case kind == frameHeader && f.delivery.begun && channel == f.delivery.channel:
		f.delivery.begun = false
		if size+frameOverhead <= f.frameMax {
			return f.takeHeaders(size)
		}
		f.outgrown.Store(int64(size + frameOverhead))
	}
	f.pass = frameHead + size + 1
	return nil
}

// look notes what a method says about deliveries.
func (f *filter) look(channel uint16, size int) error {
	method, err := f.in.Peek(frameHead + min(size, deliverHead))
	if err != nil {
		return err
	}
	if method = method[frameHead:]; len(method) < 4 {
		return nil
	}
	switch binary.BigEndian.Uint32(method) {
	case methodChannelOpenOk:
		f.headers.reset()
	case methodDeliver:
		f.begin(channel, method[4:])
	}
	return nil
}

// begin reads the delivery tag behind the consumer tag.
func (f *filter) begin(channel uint16, arguments []byte) {
	if len(arguments) == 0 || len(arguments) < 1+int(arguments[0])+8 {
		return
	}
	f.delivery.tag = binary.BigEndian.Uint64(arguments[1+int(arguments[0]):])
	f.delivery.channel, f.delivery.begun = channel, true
}

// takeHeaders puts a content header without its table in the place of one that
// has one.
func (f *filter) takeHeaders(size int) error {
	n := frameHead + size + 1
	frame, err := f.whole(n)
	if err != nil {
		return err
	}
	c := splitContent(frame[frameHead : n-1])
	f.room = c.withoutTable(f.room[:0], frame)
	f.out = f.room
	if c.table != nil {
		f.headers.put(aside{tag: f.delivery.tag, table: bytes.Clone(c.table), problem: c.problem})
	}
	if n <= f.in.Size() {
		_, err = f.in.Discard(n)
	}
	return err
}

// whole returns a frame of n bytes, which is still to be discarded if the
// buffer holds all of it.
func (f *filter) whole(n int) ([]byte, error) {
	if n <= f.in.Size() {
		return f.in.Peek(n)
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(f.in, frame)
	return frame, err
}

func sizeOf(head []byte) int { return int(binary.BigEndian.Uint32(head[3:])) }

package rabbit

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The flags that say which properties follow, as AMQP 0-9-1 has them.
const (
	flagContentType uint16 = 1 << (15 - iota)
	flagContentEncoding
	flagHeaders
	flagDeliveryMode
	flagPriority
	flagCorrelationID
	flagReplyTo
	flagExpiration
	flagMessageID
	flagTimestamp
	flagType
	flagUserID
	flagAppID
)

// EncodeProperties writes the properties that are present as AMQP 0-9-1
// does, flags and values, but without the headers. It fails for strings over
// 255 bytes, which no broker delivers.
func EncodeProperties(p Properties) ([]byte, error) {
	w := propertyWriter{out: make([]byte, 2, 128)}
	w.short(flagContentType, "content_type", p.ContentType)
	w.short(flagContentEncoding, "content_encoding", p.ContentEncoding)
	w.octet(flagDeliveryMode, p.DeliveryMode)
	w.octet(flagPriority, p.Priority)
	w.short(flagCorrelationID, "correlation_id", p.CorrelationID)
	w.short(flagReplyTo, "reply_to", p.ReplyTo)
	w.short(flagExpiration, "expiration", p.Expiration)
	w.short(flagMessageID, "message_id", p.MessageID)
	w.seconds(flagTimestamp, p.Timestamp)
	w.short(flagType, "type", p.Type)
	w.short(flagUserID, "user_id", p.UserID)
	w.short(flagAppID, "app_id", p.AppID)
	if w.err != nil {
		return nil, fmt.Errorf("rabbit: encode properties: %w", w.err)
	}
	binary.BigEndian.PutUint16(w.out, w.flags)
	return w.out, nil
}

// DecodeProperties reads what EncodeProperties wrote, from any input. A
// value that is there but empty or 0 comes back as absent.
func DecodeProperties(data []byte) (Properties, error) {
	r := newPropertyReader(data)
	p := Properties{
		ContentType: r.short(flagContentType), ContentEncoding: r.short(flagContentEncoding),
		DeliveryMode: r.octet(flagDeliveryMode), Priority: r.octet(flagPriority),
		CorrelationID: r.short(flagCorrelationID), ReplyTo: r.short(flagReplyTo), Expiration: r.short(flagExpiration),
		MessageID: r.short(flagMessageID), Timestamp: r.seconds(flagTimestamp), Type: r.short(flagType),
		UserID: r.short(flagUserID), AppID: r.short(flagAppID),
	}
	if err := r.end(); err != nil {
		return Properties{}, fmt.Errorf("rabbit: decode properties: %w", err)
	}
	return p, nil
}

type propertyWriter struct {
	out   []byte
	flags uint16
	err   error
}

func (w *propertyWriter) short(flag uint16, name, value string) {
	if value == "" {
		return
	}
	if len(value) > maxShort {
		w.err = fmt.Errorf("%s is %d bytes long and AMQP takes %d", name, len(value), maxShort)
		return
	}
	w.flags |= flag
	w.out = append(append(w.out, byte(len(value))), value...)
}

func (w *propertyWriter) octet(flag uint16, value uint8) {
	if value != 0 {
		w.flags |= flag
		w.out = append(w.out, value)
	}
}

func (w *propertyWriter) seconds(flag uint16, value int64) {
	if value != 0 {
		w.flags |= flag
		w.out = binary.BigEndian.AppendUint64(w.out, uint64(value))
	}
}

// propertyReader reads the properties that its flags name, each once, in the
// order of their flags.
type propertyReader struct {
	flags uint16
	rest  []byte
	err   error
}

func newPropertyReader(data []byte) propertyReader {
	if len(data) < 2 {
		return propertyReader{err: errCutOff}
	}
	return propertyReader{flags: binary.BigEndian.Uint16(data), rest: data[2:]}
}

// take returns the next n bytes, or nil if they are not there.
func (r *propertyReader) take(n int) []byte {
	if r.err == nil && len(r.rest) < n {
		r.err = errCutOff
	}
	if r.err != nil {
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// has reports whether a property is there, and counts it as read.
func (r *propertyReader) has(flag uint16) bool {
	there := r.flags&flag != 0
	r.flags &^= flag
	return there && r.err == nil
}

func (r *propertyReader) short(flag uint16) string {
	if !r.has(flag) {
		return ""
	}
	length := r.take(1)
	if length == nil {
		return ""
	}
	return string(r.take(int(length[0])))
}

func (r *propertyReader) octet(flag uint16) uint8 {
	if !r.has(flag) {
		return 0
	}
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *propertyReader) seconds(flag uint16) int64 {
	if !r.has(flag) {
		return 0
	}
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// skip moves past a property of n bytes.
func (r *propertyReader) skip(flag uint16, n int) {
	if r.has(flag) {
		r.take(n)
	}
}

func (r *propertyReader) skipShort(flag uint16) {
	if !r.has(flag) {
		return
	}
	if length := r.take(1); length != nil {
		r.take(int(length[0]))
	}
}

// long returns a property with the four bytes of its length.
func (r *propertyReader) long(flag uint16) []byte {
	if !r.has(flag) {
		return nil
	}
	all := r.rest
	length := r.take(4)
	if length == nil {
		return nil
	}
	n := binary.BigEndian.Uint32(length)
	if uint64(n) > uint64(len(r.rest)) {
		r.err = errBeyondEnd
		return nil
	}
	r.take(int(n))
	return all[:4+int(n)]
}

func (r *propertyReader) end() error {
	switch {
	case r.err != nil:
		return r.err
	case r.flags != 0:
		return errors.New("flags of unknown properties")
	case len(r.rest) != 0:
		return errTrailing
	}
	return nil
}

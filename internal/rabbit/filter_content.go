package rabbit

import "encoding/binary"

const (
	// propertiesAt is where flags and properties begin in a content header, after
	// class, weight and size of the body.
	propertiesAt = 12
	// flagsUnknown are flags that AMQP gives no meaning; the lowest would say that
	// more flags follow.
	flagsUnknown = 3
	// flagClusterID marks a property that nobody has used since AMQP 0-8.
	flagClusterID = 1 << 2
)

const brokenProperties = "its list of properties does not fit into its frame, or names properties that AMQP does not have"

// content is a content header and where its header table lies in it.
type content struct {
	payload []byte
	table   []byte // nil: there is none
	at      int    // where table begins in payload
	problem string // why the properties cannot be told apart; table is all of them then
}

// splitContent finds the header table among the properties. It makes sure of
// them all, so that the client library can read what is left.
func splitContent(payload []byte) content {
	c := content{payload: payload}
	if len(payload) < propertiesAt+2 {
		return c
	}
	p := newPropertyReader(payload[propertiesAt:])
	p.skipShort(flagContentType)
	p.skipShort(flagContentEncoding)
	before := len(p.rest)
	c.table = p.long(flagHeaders)
	c.at = len(payload) - before
	p.skip(flagDeliveryMode, 1)
	p.skip(flagPriority, 1)
	for _, flag := range [...]uint16{flagCorrelationID, flagReplyTo, flagExpiration, flagMessageID} {
		p.skipShort(flag)
	}
	p.skip(flagTimestamp, 8)
	for _, flag := range [...]uint16{flagType, flagUserID, flagAppID, flagClusterID} {
		p.skipShort(flag)
	}
	if p.err != nil || p.flags&flagsUnknown != 0 {
		c.table, c.at, c.problem = payload[propertiesAt:], propertiesAt, brokenProperties
	}
	return c
}

// withoutTable appends frame, which holds c, but without c's table to dst.
func (c content) withoutTable(dst, frame []byte) []byte {
	if c.table == nil {
		return append(dst, frame...)
	}
	start := len(dst)
	dst = append(append(dst, frame[:frameHead]...), c.payload[:propertiesAt]...)
	if c.problem != "" {
		dst = append(dst, 0, 0)
	} else {
		flags := binary.BigEndian.Uint16(c.payload[propertiesAt:])
		dst = binary.BigEndian.AppendUint16(dst, flags&^flagHeaders)
		dst = append(dst, c.payload[propertiesAt+2:c.at]...)
		dst = append(dst, c.payload[c.at+len(c.table):]...)
	}
	dst = append(dst, frame[len(frame)-1])
	binary.BigEndian.PutUint32(dst[start+3:], uint32(len(dst)-start-frameOverhead))
	return dst
}

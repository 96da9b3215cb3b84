package dlq

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// fingerprint tells deliveries apart: two with the same one are the same
// message or byte-identical twins.
type fingerprint [sha256.Size]byte

// perDelivery are headers that a broker changes from one delivery of a message
// to the next, so that they say nothing about which message it is.
var perDelivery = []string{"x-delivery-count", "x-acquired-count"}

// fingerprintOf hashes all that makes d this message: each part with its length,
// and the body by the hash of it that is kept anyway.
// Headers count in the order of their names, since a broker sorts them when it
// adds one of its own; those that nobody can read do not count.
func fingerprintOf(d rabbit.Delivery, properties []byte, body [sha256.Size]byte) fingerprint {
	headers, err := rabbit.EncodeHeaders(withoutPerDelivery(d.Headers))
	if err != nil {
		headers = nil // no broker delivers such a table
	}
	all := make([]byte, 0, 1024)
	for _, part := range []string{d.Exchange, d.RoutingKey} {
		all = append(binary.BigEndian.AppendUint64(all, uint64(len(part))), part...)
	}
	for _, part := range [][]byte{properties, headers, body[:]} {
		all = append(binary.BigEndian.AppendUint64(all, uint64(len(part))), part...)
	}
	return sha256.Sum256(all)
}

func withoutPerDelivery(h rabbit.Table) rabbit.Table {
	if !slices.ContainsFunc(perDelivery, func(name string) bool { _, there := h[name]; return there }) {
		return h
	}
	h = maps.Clone(h)
	for _, name := range perDelivery {
		delete(h, name)
	}
	return h
}

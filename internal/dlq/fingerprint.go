package dlq

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// fingerprint tells deliveries apart: two with the same one are the same
// message or byte-identical twins.
type fingerprint [sha256.Size]byte

// perDelivery are headers that a broker changes from one delivery of a message
// to the next, so that they say nothing about which message it is.
var perDelivery = []string{"x-delivery-count", "x-acquired-count"}

// fingerprintOf hashes all that makes d this message: each part with its
// length, and headers in a fixed order. properties and headers are d's own,
// encoded.
func fingerprintOf(d rabbit.Delivery, properties []byte, headers string) fingerprint {
	for _, name := range perDelivery {
		if _, there := d.Headers[name]; !there {
			continue
		}
		// What cannot be encoded is not counted either: a copy of such a message
		// may be taken for another one, and is then stored again.
		if rest, err := encodeHeaders(withoutPerDelivery(d.Headers)); err == nil {
			headers = string(rest)
		}
		break
	}
	hash := sha256.New()
	for _, part := range []string{d.Exchange, d.RoutingKey, string(properties), headers} {
		hash.Write(length(len(part)))
		hash.Write([]byte(part))
	}
	hash.Write(length(len(d.Body)))
	hash.Write(d.Body)
	return fingerprint(hash.Sum(nil))
}

func length(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func withoutPerDelivery(h rabbit.Table) rabbit.Table {
	h = maps.Clone(h)
	for _, name := range perDelivery {
		delete(h, name)
	}
	return h
}

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
func fingerprintOf(d rabbit.Delivery, properties, headers []byte) (fingerprint, error) {
	for _, name := range perDelivery {
		if _, there := d.Headers[name]; !there {
			continue
		}
		var err error
		if headers, err = rabbit.EncodeTable(withoutPerDelivery(d.Headers)); err != nil {
			return fingerprint{}, err
		}
		break
	}
	hash := sha256.New()
	for _, part := range [][]byte{[]byte(d.Exchange), []byte(d.RoutingKey), properties, headers, d.Body} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write(part)
	}
	return fingerprint(hash.Sum(nil)), nil
}

func withoutPerDelivery(h rabbit.Table) rabbit.Table {
	h = maps.Clone(h)
	for _, name := range perDelivery {
		delete(h, name)
	}
	return h
}

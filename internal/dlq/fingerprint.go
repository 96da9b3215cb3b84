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

// fingerprintOf hashes all that makes d this message. Header names are in a
// fixed order, and each part comes with its length.
func fingerprintOf(d rabbit.Delivery) (fingerprint, error) {
	headers := maps.Clone(d.Headers)
	for _, name := range perDelivery {
		delete(headers, name)
	}
	table, err := rabbit.EncodeTable(headers)
	if err != nil {
		return fingerprint{}, err
	}
	properties, err := rabbit.EncodeProperties(d.Properties)
	if err != nil {
		return fingerprint{}, err
	}
	hash := sha256.New()
	for _, part := range [][]byte{[]byte(d.Exchange), []byte(d.RoutingKey), properties, table, d.Body} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write(part)
	}
	return fingerprint(hash.Sum(nil)), nil
}

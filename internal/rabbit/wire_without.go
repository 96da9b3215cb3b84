package rabbit

import (
	"encoding/binary"
	"slices"
)

// WithoutHeaders returns the bytes of a field table without its values of the
// given names; all else stays in its order. It returns table itself where none
// is there or where it cannot be read.
func WithoutHeaders(table []byte, names ...string) []byte {
	r := newWireReader(table, maxWireDepth, len(table))
	end, err := r.length(len(table))
	if err != nil {
		return table
	}
	rest := slices.Clone(table[:4])
	for r.at < end {
		from := r.at
		name, err := r.name(end)
		if err != nil {
			return table
		}
		if _, err := r.field(end, 0); err != nil {
			return table
		}
		if !slices.Contains(names, name) {
			rest = append(rest, table[from:r.at]...)
		}
	}
	if len(rest) == len(table) {
		return table
	}
	binary.BigEndian.PutUint32(rest, uint32(len(rest)-4)) //nolint:gosec // it is shorter than a table
	return rest
}

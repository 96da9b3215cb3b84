package rabbit

import (
	"math"
	"strconv"
)

// notANumber opens the text of a NaN other than Go's own; its bits follow in hex.
const notANumber = "NaN:"

func formatFloat32(v float32) string {
	if bits := math.Float32bits(v); v != v && bits != math.Float32bits(float32(math.NaN())) {
		return notANumber + strconv.FormatUint(uint64(bits), 16)
	}
	return strconv.FormatFloat(float64(v), 'g', -1, 32)
}

func formatFloat64(v float64) string {
	if bits := math.Float64bits(v); v != v && bits != math.Float64bits(math.NaN()) {
		return notANumber + strconv.FormatUint(bits, 16)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

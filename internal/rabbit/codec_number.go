package rabbit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// notANumber opens the text of a NaN other than Go's own; its bits follow in hex.
const notANumber = "NaN:"

func decodeNumber(letter, text string) (any, error) {
	switch letter {
	case "b":
		v, err := strconv.ParseInt(text, 10, 8)
		return int8(v), err
	case "B":
		v, err := strconv.ParseUint(text, 10, 8)
		return uint8(v), err
	case "s":
		v, err := strconv.ParseInt(text, 10, 16)
		return int16(v), err
	case "u":
		v, err := strconv.ParseUint(text, 10, 16)
		return uint16(v), err
	case "I":
		v, err := strconv.ParseInt(text, 10, 32)
		return int32(v), err
	case "i":
		v, err := strconv.ParseUint(text, 10, 32)
		return uint32(v), err
	case "l":
		return strconv.ParseInt(text, 10, 64)
	case "f":
		return parseFloat32(text)
	case "d":
		return parseFloat64(text)
	case "D":
		return parseDecimal(text)
	case "T":
		v, err := strconv.ParseInt(text, 10, 64)
		return time.Unix(v, 0).UTC(), err
	}
	return nil, fmt.Errorf("no AMQP type %q", letter)
}

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

func parseFloat32(text string) (float32, error) {
	if hex, ok := strings.CutPrefix(text, notANumber); ok {
		bits, err := strconv.ParseUint(hex, 16, 32)
		return math.Float32frombits(uint32(bits)), err
	}
	v, err := strconv.ParseFloat(text, 32)
	return float32(v), err
}

func parseFloat64(text string) (float64, error) {
	if hex, ok := strings.CutPrefix(text, notANumber); ok {
		bits, err := strconv.ParseUint(hex, 16, 64)
		return math.Float64frombits(bits), err
	}
	return strconv.ParseFloat(text, 64)
}

// parseDecimal reads digits and scale, such as 1234e-2 for 12.34.
func parseDecimal(text string) (amqp.Decimal, error) {
	digits, scale, ok := strings.Cut(text, "e-")
	if !ok {
		return amqp.Decimal{}, fmt.Errorf("decimal %q has no scale", text)
	}
	v, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return amqp.Decimal{}, err
	}
	s, err := strconv.ParseUint(scale, 10, 8)
	return amqp.Decimal{Scale: uint8(s), Value: int32(v)}, err
}

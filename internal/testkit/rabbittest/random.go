package rabbittest

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// RandomMessage is a message of any shape that a broker takes, with number i as
// its message id. Its headers do not route it elsewhere.
func RandomMessage(r *rand.Rand, i int) amqp.Publishing {
	headers := Carried(RandomTable(r, 4)).(amqp.Table)
	delete(headers, "CC")
	delete(headers, "BCC")
	m := amqp.Publishing{
		Headers: headers, MessageId: strconv.Itoa(i), Body: make([]byte, r.IntN(2000)),
		ContentType: RandomString(r), ContentEncoding: RandomString(r), DeliveryMode: uint8(r.IntN(3)), Priority: uint8(r.Uint32()),
		CorrelationId: RandomString(r), ReplyTo: RandomString(r), Type: RandomString(r), AppId: RandomString(r),
	}
	for i := range m.Body {
		m.Body[i] = byte(r.Uint32())
	}
	if r.IntN(2) == 0 {
		m.Expiration, m.UserId = "86400000", "guest"
	}
	if seconds := int64(r.Uint64()); r.IntN(2) == 0 {
		m.Timestamp = time.Unix(seconds, 0)
	}
	return m
}

// RandomTable has headers of all types and odd names, nested up to depth levels.
func RandomTable(r *rand.Rand, depth int) amqp.Table {
	table := amqp.Table{}
	for range r.IntN(6) {
		table[RandomString(r)] = randomValue(r, depth)
	}
	return table
}

func randomValue(r *rand.Rand, depth int) any {
	kinds := 17
	if depth == 0 {
		kinds = 15
	}
	switch r.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return int8(r.Uint32())
	case 3:
		return uint8(r.Uint32())
	case 4:
		return int16(r.Uint32())
	case 5:
		return uint16(r.Uint32())
	case 6:
		return int32(r.Uint32())
	case 7:
		return r.Uint32()
	case 8:
		return int64(r.Uint64())
	case 9:
		return math.Float32frombits(r.Uint32())
	case 10:
		return math.Float64frombits(r.Uint64())
	case 11:
		return amqp.Decimal{Scale: uint8(r.Uint32()), Value: int32(r.Uint32())}
	case 12:
		return RandomString(r)
	case 13:
		return []byte(RandomString(r))
	case 14:
		return time.Unix(int64(r.Uint64()), 0)
	case 15:
		array := []any{}
		for range r.IntN(4) {
			array = append(array, randomValue(r, depth-1))
		}
		return array
	}
	return RandomTable(r, depth-1)
}

// RandomString is short, and mostly neither UTF-8 nor free of NUL.
func RandomString(r *rand.Rand) string {
	b := make([]byte, r.IntN(12))
	for i := range b {
		b[i] = byte(r.Uint32())
		if r.IntN(2) == 0 {
			b[i] = 'a' + b[i]%26
		}
	}
	if r.IntN(10) == 0 {
		return "=b64=" + string(b)
	}
	return string(b)
}

// Carried is value as RabbitMQ can carry it: it takes no NaN and no infinity.
func Carried(value any) any {
	switch v := value.(type) {
	case float32:
		if v != v || math.IsInf(float64(v), 0) {
			return float32(0.5)
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0.5
		}
	case []any:
		for i := range v {
			v[i] = Carried(v[i])
		}
	case amqp.Table:
		for name := range v {
			v[name] = Carried(v[name])
		}
	}
	return value
}

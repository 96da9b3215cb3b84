package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// message is what was published under a number. It follows from seed and number
// alone, so that nothing but numbers is kept to know what the store must hold.
type message struct {
	body    []byte
	headers amqp.Table
}

// mark begins each body, so that its number can be read from what is stored.
const mark = "soak "

// compose makes the message of a number: text or bytes of any kind, mostly
// small, with headers of many types. Of half of them twins are alike byte for
// byte; of the others the headers come in another order each time.
func compose(seed uint64, number int) message {
	random := rand.New(rand.NewPCG(seed, uint64(number))) //nolint:gosec // chance is wanted that can be had again
	size := 50 + random.IntN(1500)
	if random.IntN(100) == 0 {
		size = 50_000 + random.IntN(100_000)
	}
	var body bytes.Buffer
	fmt.Fprintf(&body, "%s%d\n", mark, number)
	if random.IntN(3) == 0 {
		for body.Len() < size {
			body.WriteByte(byte(random.UintN(256)))
		}
	} else {
		for body.Len() < size {
			fmt.Fprintf(&body, `{"orderNo":"P%d","amount":%d.00,"note":"付款 %x"}`+"\n", number, random.IntN(1000), random.Uint64())
		}
	}
	m := message{body: body.Bytes(), headers: amqp.Table{
		"x-exception-type":    "com.example.PayException",
		"x-exception-message": fmt.Sprintf("account %d is locked \xff", random.IntN(100)),
		"x-retry-count":       int32(5),
		"x-original-queue":    "q.pay.success",
		"attempt":             int64(random.Int64()),
		"small":               int8(-7),
		"share":               random.Float64(),
		"nothing":             nil,
		"bytes":               []byte{0, 1, 0xfe, byte(random.UintN(256))},
		"trace":               amqp.Table{"span": strconv.Itoa(number), "sampled": true, "hops": []any{int32(1), "two", false}},
	}}
	if number%4 < 2 {
		m.headers = inOrder(m.headers)
	}
	return m
}

// inOrder puts headers into one, as an array in the order of their names: the
// client library sends those of a table in any order, so that its twins differ.
func inOrder(headers amqp.Table) amqp.Table {
	var all []any
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if name != "trace" { // has several of its own
			all = append(all, amqp.Table{name: headers[name]})
		}
	}
	return amqp.Table{"failures": all}
}

// second is when all messages say that they were published: twins do not
// differ in it.
var second = time.Unix(1_700_000_000, 0).UTC()

func (m message) publishing() amqp.Publishing {
	return amqp.Publishing{
		ContentType: "application/octet-stream", DeliveryMode: amqp.Persistent, Timestamp: second, Headers: m.headers, Body: m.body,
	}
}

// numberOf reads the number of a body that compose may have made.
func numberOf(body []byte) (int, bool) {
	rest, ok := bytes.CutPrefix(body, []byte(mark))
	digits, _, there := bytes.Cut(rest, []byte("\n"))
	number, err := strconv.Atoi(string(digits))
	return number, ok && there && err == nil
}

package rabbit

import amqp "github.com/rabbitmq/amqp091-go"

const (
	// maxDepth is how deeply tables and arrays may nest in headers that are read;
	// the client library alone takes no more than 32 levels.
	maxDepth = 64
	// maxValues is how many values the headers of one message may have. More are
	// kept as bytes alone: each takes many times its bytes once it is read.
	maxValues = 1 << 16

	// What a delivery, a table and a value take in memory beside their bytes.
	deliveryOverhead = 1 << 10
	tableOverhead    = 350
	valueOverhead    = 48
)

// received is d with the headers that were put aside for it, and what that
// takes in memory, roughly but not less.
func received(d amqp.Delivery, a aside) (Delivery, int64) {
	out := Delivery{
		Tag: d.DeliveryTag, Redelivered: d.Redelivered, Exchange: d.Exchange, RoutingKey: d.RoutingKey,
		Properties: propertiesOf(d), RawHeaders: a.table, Body: d.Body,
	}
	size := int64(deliveryOverhead + cap(d.Body) + 2*len(a.table))
	switch {
	case a.problem != "":
		out.Unreadable = a.problem
	case a.table != nil:
		r := newWireReader(a.table, maxDepth, maxValues)
		headers, err := r.all()
		if err != nil {
			out.Unreadable = err.Error()
			break
		}
		out.Headers = headers
		size += int64(r.tables*tableOverhead + r.values*valueOverhead)
	}
	return out, size
}

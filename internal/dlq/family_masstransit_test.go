package dlq

import (
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

const massTransitBody = `{"messageId":"01000000-5d1b-0015","messageType":["urn:message:Shop:PayOrder"],"message":{"orderNo":"A-1"},"headers":{"MT-Redelivery-Count":2}}`

func TestMassTransit(t *testing.T) {
	envelope := rabbit.Properties{ContentType: "application/vnd.masstransit+json", MessageID: "01000000-5d1b-0015", DeliveryMode: 2}
	testFamily(t, "masstransit", []familyCase{
		{
			name: "_error", queue: "pay-order_error", properties: envelope, body: massTransitBody,
			headers: rabbit.Table{
				"MT-Reason": "fault", "MT-Fault-ExceptionType": "System.TimeoutException", "MT-Fault-Message": "no answer",
				"MT-Fault-StackTrace": "   at Shop.Bank.Pay()", "MT-Fault-Timestamp": isoHour, "MT-Fault-ConsumerType": "Shop.PayConsumer",
				"MT-Fault-InputAddress": "rabbitmq://broker/shop/pay-order?durable=true", "MT-Fault-RetryCount": int32(5),
				"MT-Redelivery-Count": "2", "MT-Host-MachineName": "web-1", "Content-Type": "application/vnd.masstransit+json",
			},
			want: Facts{
				Reason:     NoReason,
				Failure:    Failure{"System.TimeoutException", "no answer", "   at Shop.Bank.Pay()", "masstransit"},
				RetryCount: new(int64(5)), RetryCountSource: "framework",
				Original: Origin{Queue: "pay-order", Evidence: "framework"},
				DiedAt:   atIsoHour,
			},
			unit: unitCase{
				removed: []string{
					"MT-Fault-ConsumerType", "MT-Fault-ExceptionType", "MT-Fault-InputAddress", "MT-Fault-Message", "MT-Fault-RetryCount",
					"MT-Fault-StackTrace", "MT-Fault-Timestamp", "MT-Reason", "MT-Redelivery-Count",
				},
				warnings: []string{WarnRedeliveryCount},
			},
		},
		{
			name: "_skipped: no consumer takes the type", queue: "pay-order_skipped", properties: envelope, body: `{"messageId":"1","message":{}}`,
			headers: rabbit.Table{"MT-Reason": "dead-letter", "MT-Host-MachineName": "web-1"},
			want: Facts{
				Reason: NoReason, Failure: Failure{Message: "dead-letter", Extractor: "masstransit"},
				Original: Origin{Queue: "pay-order", Evidence: "queue-name"},
			},
			unit: unitCase{removed: []string{"MT-Reason"}},
		},
		{
			name: "nacked: the family is known by its envelope, and no reason is invented", queue: "q.dead", properties: envelope,
			headers: rabbit.Table{"x-death": []any{died("pay-order", "rejected", 1, hourAgo)}}, body: `{"message":{}}`,
			want: Facts{
				Reason: Rejected, Failure: Failure{Extractor: "masstransit"},
				RetryCount: new(int64(1)), RetryCountSource: "x-death",
				Original:    Origin{"pay-order", new("ex.pay"), new("pay.pay-order"), "x-death"},
				FirstDiedAt: hourAgo, DiedAt: hourAgo,
			},
			unit: unitCase{removed: []string{"x-death"}},
		},
	})
}

package dlq

import (
	"testing"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

const springTrace = "org.springframework.amqp.rabbit.support.ListenerExecutionFailedException: Listener threw exception\n" +
	"\tat org.springframework.amqp.rabbit.listener.AbstractMessageListenerContainer.invoke(A.java:1)\n" +
	"Caused by: java.net.SocketTimeoutException: Read timed out\n\tat com.acme.Bank.pay(Bank.java:7)"

func TestSpring(t *testing.T) {
	testFamily(t, "spring", []familyCase{
		{
			name: "republished by 3.2, with a trace and the broker's history of the ladder before", queue: "q.errors",
			headers: rabbit.Table{
				"x-exception-stacktrace": springTrace, "x-exception-message": "Read timed out",
				"x-original-exchange": "ex.pay", "x-original-routingKey": "pay.success", "retry-count": int64(3),
				"x-death": []any{died("q.pay", "rejected", 2, hourAgo)}, "__TypeId__": "com.acme.Pay",
			},
			body: `{"orderNo":"A-1"}`,
			want: Facts{
				Reason:     Rejected,
				Failure:    Failure{"java.net.SocketTimeoutException", "Read timed out", springTrace, "spring"},
				RetryCount: new(int64(3)), RetryCountSource: "framework",
				Original:    Origin{"q.pay", new("ex.pay"), new("pay.success"), "x-death"},
				FirstDiedAt: hourAgo,
			},
			unit: unitCase{removed: []string{
				"retry-count", "x-death", "x-exception-message", "x-exception-stacktrace", "x-original-exchange", "x-original-routingKey",
			}},
		},
		{
			name: "4.1.1: no trace, so no type; a void message", queue: "q.errors",
			headers: rabbit.Table{"x-exception-message": nil, "x-original-exchange": "", "x-original-routingKey": "q.pay"},
			want: Facts{
				Reason: NoReason, Failure: Failure{Extractor: "spring"},
				Original: Origin{Exchange: new(""), RoutingKey: new("q.pay")},
			},
			unit: unitCase{removed: []string{"x-exception-message", "x-original-exchange", "x-original-routingKey"}},
		},
	})
}

func TestSpringCloudStream(t *testing.T) {
	testFamily(t, "spring-cloud-stream", []familyCase{{
		name: "republishToDlq: no history, but a queue name", queue: "payments.billing.dlq",
		headers: rabbit.Table{
			"x-exception-stacktrace": "java.lang.IllegalStateException: no account\n\tat a.B.c(B.java:1)", "x-exception-message": "no account",
			"x-original-exchange": "payments", "x-original-routingKey": "payments", "retry-count": int64(1), "contentType": "application/json",
		},
		body: `{"orderNo":"A-1"}`,
		want: Facts{
			Reason:     NoReason,
			Failure:    Failure{"java.lang.IllegalStateException", "no account", "java.lang.IllegalStateException: no account\n\tat a.B.c(B.java:1)", "spring-cloud-stream"},
			RetryCount: new(int64(1)), RetryCountSource: "framework",
			Original: Origin{"payments.billing", new("payments"), new("payments"), "queue-name"},
		},
		unit: unitCase{removed: []string{
			"retry-count", "x-exception-message", "x-exception-stacktrace", "x-original-exchange", "x-original-routingKey",
		}},
	}})
}

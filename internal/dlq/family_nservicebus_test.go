package dlq

import (
	"maps"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

func TestNServiceBus(t *testing.T) {
	failed := func(more rabbit.Table) rabbit.Table {
		h := rabbit.Table{
			"NServiceBus.ExceptionInfo.ExceptionType": "System.TimeoutException", "NServiceBus.ExceptionInfo.Message": "no answer",
			"NServiceBus.ExceptionInfo.StackTrace": "System.TimeoutException: no answer\n   at Shop.Bank.Pay()", "NServiceBus.ExceptionInfo.Source": "Shop",
			"NServiceBus.ExceptionInfo.Data.Handler": "PayHandler",
			"NServiceBus.FailedQ":                    "Shop.Sales", "NServiceBus.TimeOfFailure": "2026-03-01 02:10:00:123456 Z",
			"NServiceBus.ProcessingEndpoint": "Shop.Sales", "NServiceBus.MessageId": "5d1b", "NServiceBus.EnclosedMessageTypes": "Shop.PayOrder",
			"$.diagnostics.originating.hostid": "9f",
		}
		maps.Copy(h, more)
		return h
	}
	removed := []string{
		"NServiceBus.ExceptionInfo.Data.Handler", "NServiceBus.ExceptionInfo.ExceptionType", "NServiceBus.ExceptionInfo.Message",
		"NServiceBus.ExceptionInfo.Source", "NServiceBus.ExceptionInfo.StackTrace", "NServiceBus.FailedQ", "NServiceBus.TimeOfFailure",
	}
	want := Facts{
		Reason:   NoReason,
		Failure:  Failure{"System.TimeoutException", "no answer", "System.TimeoutException: no answer\n   at Shop.Bank.Pay()", "nservicebus"},
		Original: Origin{Queue: "Shop.Sales", Evidence: "framework"},
		DiedAt:   time.Date(2026, 3, 1, 2, 10, 0, 123456000, time.UTC),
	}
	testFamily(t, "nservicebus", []familyCase{
		{
			name: "the error queue: no history and no count", queue: "error", headers: failed(nil),
			properties: rabbit.Properties{MessageID: "5d1b"}, body: `{"OrderNo":"A-1"}`, want: want, unit: unitCase{removed: removed},
		},
		{
			name: "edited and retried by ServiceControl, without a message id", queue: "error",
			headers: failed(rabbit.Table{
				"ServiceControl.Retry.UniqueMessageId": "u", "ServiceControl.Retry.AcknowledgementQueue": "error", "ServiceControl.EditOf": "e",
			}),
			want: want,
			unit: unitCase{
				removed: append(append([]string{}, removed...),
					"ServiceControl.EditOf", "ServiceControl.Retry.AcknowledgementQueue", "ServiceControl.Retry.UniqueMessageId"),
				warnings: []string{WarnNoMessageID},
			},
		},
	})
}

package dlq

import (
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
)

// easyNetQBody is an envelope around a message.
func easyNetQBody(message string) string {
	return `{"RoutingKey":"","Exchange":"Shop.PayOrder, Shop","Queue":"Shop.PayOrder, Shop_sales",` +
		`"Exception":"System.TimeoutException: no answer\r\n   at Shop.Bank.Pay()","Message":` + message + `,"DateTime":"2026-03-01T02:10:00.1234567Z",` +
		`"BasicProperties":{"ContentType":"application/json","ContentEncoding":null,"Headers":{"tenant":"YWNtZQ==","weight":7,"share":0.5,"plain":"a b","nested":{"n":[null,true]}},` +
		`"DeliveryMode":2,"Priority":0,"CorrelationId":"c-1","ReplyTo":null,"Expiration":"60000","MessageId":"m-1","Timestamp":1772330000,` +
		`"Type":"Shop.PayOrder, Shop","UserId":"guest","AppId":null,"ClusterId":null}}`
}

func TestEasyNetQ(t *testing.T) {
	envelope := rabbit.Properties{Type: "EasyNetQ.SystemMessages.Error, EasyNetQ", ContentType: "application/json", DeliveryMode: 2}
	want := Facts{
		Reason:   NoReason,
		Failure:  Failure{"System.TimeoutException", "no answer", "System.TimeoutException: no answer\r\n   at Shop.Bank.Pay()", "easynetq"},
		Original: Origin{"Shop.PayOrder, Shop_sales", new("Shop.PayOrder, Shop"), new(""), "framework"},
		DiedAt:   time.Date(2026, 3, 1, 2, 10, 0, 123456700, time.UTC),
	}
	inside := func(body string, warnings, consents []string) unitCase {
		return unitCase{
			removed: []string{"x-own"}, edits: []string{EditUnwrapped, EditRestored}, warnings: warnings, consents: consents, body: body,
			headers: rabbit.Table{"tenant": "acme", "weight": int64(7), "share": 0.5, "plain": "a b", "nested": rabbit.Table{"n": []any{nil, true}}},
			properties: &rabbit.Properties{
				ContentType: "application/json", DeliveryMode: 2, CorrelationID: "c-1", MessageID: "m-1", Timestamp: 1772330000, Type: "Shop.PayOrder, Shop",
			},
		}
	}
	of := func(name, message string, unit unitCase) familyCase {
		return familyCase{
			name: name, queue: "EasyNetQ_Default_Error_Queue", properties: envelope, headers: rabbit.Table{"x-own": "1"},
			body: easyNetQBody(message), want: want, unit: unit,
		}
	}
	testFamily(t, "easynetq", []familyCase{
		of("the message inside as text", `"{\"orderNo\":\"A-1\",\"note\":\"caf\u00e9\"}"`, inside(`{"orderNo":"A-1","note":"café"}`, []string{WarnHeaderTypes}, nil)),
		of("the message inside as base64", `"eyJvcmRlck5vIjoiQS0xIn0="`, inside(`{"orderNo":"A-1"}`, []string{WarnBase64, WarnHeaderTypes}, nil)),
		of("bytes that were no text when it was written", `"\u0008\ufffd\u0001"`, inside("\x08\uFFFD\x01", []string{WarnHeaderTypes}, []string{ConsentLossyBody})),
		of("what may be base64 of something binary", `"CAESBFBPLTEaA4CAgPz9/v8="`, inside("CAESBFBPLTEaA4CAgPz9/v8=", []string{WarnHeaderTypes}, []string{ConsentLossyBody})),
		of("no message that could be sent", `null`, unitCase{problem: ProblemNoMessage}),
	})
}

func TestAnEnvelopesKeyIsThatOfTheMessageInside(t *testing.T) {
	t.Parallel()
	d := rabbit.Delivery{Body: []byte(easyNetQBody(`"{\"orderNo\":\"A-1\"}"`)), Properties: rabbit.Properties{MessageID: "envelope"}}
	for finder, want := range map[KeyFinder]string{
		{Body: "$.orderNo"}: "A-1", {Header: "tenant"}: "acme", {Property: "message_id"}: "m-1", {Body: "$.Queue"}: "Shop.PayOrder, Shop_sales",
	} {
		if got := Extract(d, Source{BusinessKey: []KeyFinder{finder}}, arrival).BusinessKey; got != want {
			t.Errorf("%+v: %q, want %q", finder, got, want)
		}
	}
}

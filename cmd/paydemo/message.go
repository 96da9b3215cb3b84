package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// paySuccess is what the gateway says: the user has paid this order.
type paySuccess struct {
	OrderNo string    `json:"orderNo"`
	UserID  int64     `json:"userId"`
	Amount  Cents     `json:"amount"`
	PaidAt  time.Time `json:"paidAt"`
}

func decodePaySuccess(body []byte) (paySuccess, error) {
	var m paySuccess
	if err := json.Unmarshal(body, &m); err != nil {
		return m, fmt.Errorf("decode the message: %w", err)
	}
	return m, nil
}

// publishing makes a message with an id of its own, as a producer does each
// time that it sends.
func (m paySuccess) publishing() (amqp.Publishing, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return amqp.Publishing{}, fmt.Errorf("encode the message: %w", err)
	}
	return amqp.Publishing{
		ContentType:  "application/json",
		DeliveryMode: amqp.Persistent,
		MessageId:    rand.Text(),
		Timestamp:    m.PaidAt,
		Type:         "PaySuccessMessage",
		AppId:        "pay-gateway",
		Headers:      amqp.Table{"x-trace-id": rand.Text()},
		Body:         body,
	}, nil
}

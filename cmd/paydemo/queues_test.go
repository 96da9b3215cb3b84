package main

import amqp "github.com/rabbitmq/amqp091-go"

func inspect(url, queue string) (amqp.Queue, error) {
	conn, err := amqp.Dial(url)
	if err != nil {
		return amqp.Queue{}, err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return amqp.Queue{}, err
	}
	return ch.QueueDeclarePassive(queue, true, false, false, false, nil)
}

func readyIn(url, queue string) (int, error) {
	q, err := inspect(url, queue)
	return q.Messages, err
}

func consumersOf(url, queue string) (int, error) {
	q, err := inspect(url, queue)
	return q.Consumers, err
}

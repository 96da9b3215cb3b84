# Minimal for now.
## services: start private RabbitMQ, Redis and PostgreSQL under .run/
services:
	scripts/services start
stop:
	scripts/services stop

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/seed-d2bf649b/dead-letter-office/bench/own"
)

// broker is a RabbitMQ of our own that may be killed. Its port mapper is ours
// too.
type broker struct {
	dir              string
	port, dist, epmd int
	mapper, process  *process
}

// startBroker makes a node in dir and declares the queues.
func startBroker(ctx context.Context, dir string, queues []queue) (*broker, error) {
	b := &broker{dir: filepath.Join(dir, "rabbitmq")}
	for _, port := range []*int{&b.port, &b.dist, &b.epmd} {
		var err error
		if *port, err = own.FreePort(ctx); err != nil {
			return nil, err
		}
	}
	files := map[string]string{
		"enabled_plugins": "[].\n", "rabbitmq-env.conf": "",
		"rabbitmq.conf": fmt.Sprintf("listeners.tcp.1 = %s\nvm_memory_high_watermark.relative = 0.7\ndisk_free_limit.absolute = 50MB\n", b.addr()),
	}
	if err := os.MkdirAll(filepath.Join(b.dir, "home"), 0o700); err != nil {
		return nil, err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	mapper := command(ctx, "epmd", "-port", strconv.Itoa(b.epmd))
	mapper.Env = append(os.Environ(), "ERL_EPMD_ADDRESS=127.0.0.1")
	var err error
	if b.mapper, err = launch(mapper, filepath.Join(dir, "epmd.log")); err != nil {
		return nil, err
	}
	if err := b.start(ctx); err != nil {
		return b, err
	}
	return b, b.declare(queues)
}

func (b *broker) addr() string { return "127.0.0.1:" + strconv.Itoa(b.port) }

// url is the broker by way of addr.
func (b *broker) url(addr string) string { return "amqp://guest:guest@" + addr + "/" }

// start runs the node, and returns when it takes connections. It calls the
// script beneath the packaged wrapper, as scripts/services does.
func (b *broker) start(ctx context.Context) error {
	script, err := brokerScript()
	if err != nil {
		return err
	}
	in := func(name string) string { return filepath.Join(b.dir, name) }
	cmd := command(ctx, script)
	cmd.Env = append(os.Environ(), "HOME="+in("home"),
		"ERL_EPMD_PORT="+strconv.Itoa(b.epmd), "ERL_EPMD_ADDRESS=127.0.0.1", "RUNNING_UNDER_SYSTEMD=true",
		fmt.Sprintf("RABBITMQ_NODENAME=soak-%d@localhost", b.port), "RABBITMQ_DIST_PORT="+strconv.Itoa(b.dist),
		"RABBITMQ_CONF_ENV_FILE="+in("rabbitmq-env.conf"), "RABBITMQ_CONFIG_FILE="+in("rabbitmq.conf"),
		"RABBITMQ_ADVANCED_CONFIG_FILE="+in("none"), "RABBITMQ_ENABLED_PLUGINS_FILE="+in("enabled_plugins"),
		"RABBITMQ_MNESIA_BASE="+in("data"), "RABBITMQ_LOG_BASE="+in("log"), "RABBITMQ_PID_FILE="+in("broker.pid"),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}")
	if b.process, err = launch(cmd, filepath.Join(filepath.Dir(b.dir), "rabbitmq.log")); err != nil {
		return err
	}
	return until(ctx, startWithin, func(context.Context) error {
		if b.process.ended() {
			return fmt.Errorf("the broker ended: %s", b.process.tail())
		}
		return b.channel(func(*amqp.Channel) error { return nil })
	})
}

// kill ends the node at once.
func (b *broker) kill() { b.process.kill() }

// close ends the node and its port mapper; nothing of them is wanted any more.
func (b *broker) close() error {
	for _, p := range []*process{b.process, b.mapper} {
		if p != nil && !p.ended() {
			p.kill()
		}
	}
	return nil
}

// freeze stops the node for a while, as an overloaded machine does.
func (b *broker) freeze(ctx context.Context, wait time.Duration) error {
	defer func() { _ = b.process.signal(syscall.SIGCONT) }()
	return errors.Join(b.process.signal(syscall.SIGSTOP), own.Rest(ctx, wait))
}

func (b *broker) declare(queues []queue) error {
	return b.channel(func(ch *amqp.Channel) error {
		for _, q := range queues {
			args := amqp.Table{"x-queue-type": q.kind}
			if _, err := ch.QueueDeclare(q.name, true, false, false, false, args); err != nil {
				return err
			}
		}
		return nil
	})
}

// ready is how many messages the queues have to give, all in all.
func (b *broker) ready(queues []queue) (n int, err error) {
	err = b.channel(func(ch *amqp.Channel) error {
		for _, q := range queues {
			found, err := ch.QueueDeclarePassive(q.name, true, false, false, false, nil)
			if err != nil {
				return err
			}
			n += found.Messages
		}
		return nil
	})
	return n, err
}

// channel runs one step on a connection of its own.
func (b *broker) channel(step func(*amqp.Channel) error) error {
	conn, err := amqp.Dial(b.url(b.addr()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	return step(ch)
}

func brokerScript() (string, error) {
	for _, dir := range []string{"/usr/lib/rabbitmq/bin", "/opt/rabbitmq/sbin", "/usr/local/sbin"} {
		path := filepath.Join(dir, "rabbitmq-server")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errors.New("RabbitMQ is not installed")
}

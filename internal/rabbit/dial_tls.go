package rabbit

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
)

// plainURL is an AMQP URL whose TLS is done before the client library has the
// socket. It does nothing but TLS for the name of the scheme, and takes all
// other parameters from the URL.
func plainURL(rawURL string) string {
	_, rest, _ := strings.Cut(rawURL, "://")
	return "amqp://" + rest
}

// secure does TLS over socket where the URL asks for it, as its parameters say,
// which are those of the client library: cacertfile, certfile, keyfile,
// server_name_indication.
func secure(ctx context.Context, socket net.Conn, uri amqp.URI) (net.Conn, error) {
	if uri.Scheme != "amqps" {
		return socket, nil
	}
	config, err := tlsConfig(uri)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(socket, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return secured, nil
}

func tlsConfig(uri amqp.URI) (*tls.Config, error) {
	config := &tls.Config{ServerName: uri.ServerName, MinVersion: tls.VersionTLS12}
	if config.ServerName == "" {
		config.ServerName = uri.Host
	}
	if uri.CACertFile != "" {
		data, err := os.ReadFile(uri.CACertFile)
		if err != nil {
			return nil, fmt.Errorf("cacertfile: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, errors.New("cacertfile: " + uri.CACertFile + " holds no certificate")
		}
	}
	if uri.CertFile == "" || uri.KeyFile == "" {
		return config, nil
	}
	certificate, err := tls.LoadX509KeyPair(uri.CertFile, uri.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("certfile and keyfile: %w", err)
	}
	config.Certificates = []tls.Certificate{certificate}
	return config, nil
}

package rabbit_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed-d2bf649b/dead-letter-office/internal/rabbit"
	"github.com/seed-d2bf649b/dead-letter-office/internal/testkit/rabbittest"
)

// authority signs certificates for one test, and keeps them in files.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	folder      string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{folder: t.TempDir()}
	a.certificate = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key = a.sign(t, "ca", a.certificate)
	return a
}

// sign makes a key and a certificate for it, in the files name.pem and name.key.
func (a *authority) sign(t *testing.T, name string, template *x509.Certificate) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(a.file(name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return key
}

func (a *authority) file(name string) string { return filepath.Join(a.folder, name) }

func (a *authority) pair(t *testing.T, name string, use x509.ExtKeyUsage, host string) tls.Certificate {
	t.Helper()
	a.sign(t, name, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{host},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{use},
	})
	pair, err := tls.LoadX509KeyPair(a.file(name+".pem"), a.file(name+".key"))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// tlsFront takes TLS connections on behalf of a broker, until the test ends. It
// asks for certificates that a has signed.
func tlsFront(t *testing.T, a *authority, host, broker string) string {
	t.Helper()
	pool := x509.NewCertPool()
	data, err := os.ReadFile(a.file("ca.pem"))
	if err != nil || !pool.AppendCertsFromPEM(data) {
		t.Fatal("no authority: ", err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{a.pair(t, "server", x509.ExtKeyUsageServerAuth, host)},
		ClientCAs:    pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines sync.WaitGroup
	lines.Go(func() {
		for {
			secured, err := listener.Accept()
			if err != nil {
				return
			}
			lines.Go(func() { join(secured, broker) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); lines.Wait() })
	return listener.Addr().String()
}

// join passes bytes between a client and the broker until one is gone.
func join(client net.Conn, broker string) {
	defer client.Close()
	server, err := net.Dial("tcp", broker)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

func TestTLSWithTheParametersOfTheURL(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	v.Queue(t, "q", nil)
	u, err := url.Parse(v.URL)
	if err != nil {
		t.Fatal(err)
	}
	a := newAuthority(t)
	a.pair(t, "client", x509.ExtKeyUsageClientAuth, "console")
	u.Scheme, u.Host = "amqps", tlsFront(t, a, "broker.test", u.Host)
	parameters := url.Values{
		"cacertfile": {a.file("ca.pem")}, "certfile": {a.file("client.pem")}, "keyfile": {a.file("client.key")},
		"server_name_indication": {"broker.test"}, "heartbeat": {"7"},
	}
	at := func(without ...string) string {
		p, u := maps.Clone(parameters), *u
		for _, name := range without {
			p.Del(name)
		}
		u.RawQuery = p.Encode()
		return u.String()
	}

	m := toQueue("q", "over TLS")
	m.Headers = rabbit.Table{"h": "x"}
	if err := newPublisher(t, at()).Publish(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	w := nextWindow(t, dialConsumer(t, at()), "q", rabbit.Limits{})
	if d := w.Deliveries()[0]; string(d.Body) != "over TLS" || d.Headers["h"] != "x" {
		t.Errorf("got %+v", d)
	}
	for _, missing := range []string{"cacertfile", "keyfile", "server_name_indication"} {
		c, err := rabbit.DialConsumer(t.Context(), at(missing), t.Name())
		if !errors.Is(err, rabbit.ErrUnreachable) {
			t.Errorf("without %s: %v; want ErrUnreachable", missing, err)
		}
		if err == nil {
			_ = c.Close()
		}
	}
}

func TestCertificatesThatAreNoneAreTold(t *testing.T) {
	t.Parallel()
	v := rabbittest.New(t)
	u, err := url.Parse(v.URL)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	u.Scheme = "amqps"
	for _, query := range []string{"cacertfile=" + file, "cacertfile=/does/not/exist", "certfile=" + file + "&keyfile=" + file} {
		u.RawQuery = query
		if _, err := rabbit.DialConsumer(t.Context(), u.String(), t.Name()); !errors.Is(err, rabbit.ErrUnreachable) {
			t.Errorf("%s: %v; want ErrUnreachable", query, err)
		}
	}
}

package reportserver

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// The files of the directory of certificates: those of a Secret of type kubernetes.io/tls, as cert-manager writes it.
const (
	fileCertificate = "tls.crt"
	fileKey         = "tls.key"
	fileCA          = "ca.crt"
)

// maxCABytes is bounded by what an environment variable holds: Linux takes 128 KiB for one.
const maxCABytes = 64 << 10

// certificates of the server, which follow their files, and what the agents trust.
//
// A CA is replaced with overlap: first ca.crt holds the old and the new certificate, and the pods that start from then on trust both;
// when every running attempt has started after that, the server's certificate is signed by the new one; then the old one leaves ca.crt.
type certificates struct {
	dir, host string
	log       logr.Logger

	mu sync.Mutex
	ca []byte
}

// loadCertificates for a server that agents know as host.
func loadCertificates(dir, host string, log logr.Logger) (*certificates, error) {
	c := &certificates{dir: dir, host: host, log: log}
	var err error
	if c.ca, err = c.readCA(); err != nil {
		return nil, err
	}
	if _, err := tls.LoadX509KeyPair(filepath.Join(dir, fileCertificate), filepath.Join(dir, fileKey)); err != nil {
		return nil, fmt.Errorf("reading the report server's certificate (%s and %s in reports.certificateDir): %w", fileCertificate, fileKey, err)
	}
	return c, nil
}

// watch makes what follows the files of the server's certificate. Its Start must be called, which ends what it holds.
func (c *certificates) watch() (*certwatcher.CertWatcher, error) {
	watcher, err := certwatcher.New(filepath.Join(c.dir, fileCertificate), filepath.Join(c.dir, fileKey))
	if err != nil {
		return nil, fmt.Errorf("reading the report server's certificate: %w", err)
	}
	watcher.RegisterCallback(c.inspect)
	return watcher, nil
}

// CA is what the agents trust, in PEM: the certificates of ca.crt alone. A file that cannot be read leaves the last good one.
func (c *certificates) CA() []byte {
	ca, err := c.readCA()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.log.Error(err, "Keeping the last CA for the agents")
	} else {
		c.ca = ca
	}
	return bytes.Clone(c.ca)
}

// readCA takes certificates only: a key that was put into the file by mistake must not reach the pods.
func (c *certificates) readCA() ([]byte, error) {
	path := filepath.Join(c.dir, fileCA)
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading what agents trust (%s in reports.certificateDir): %w", fileCA, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCABytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading what agents trust: %w", err)
	}
	if len(data) > maxCABytes {
		return nil, fmt.Errorf("reading what agents trust: %s has more than %d bytes: leave certificates of old CAs out", path, maxCABytes)
	}
	var certificatesOnly bytes.Buffer
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("reading what agents trust: %s holds a %s: leave only the CA's certificates in it", path, block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, fmt.Errorf("reading what agents trust: %s: %w", path, err)
		}
		if err := pem.Encode(&certificatesOnly, &pem.Block{Type: block.Type, Bytes: block.Bytes}); err != nil {
			return nil, fmt.Errorf("reading what agents trust: %w", err)
		}
	}
	if certificatesOnly.Len() == 0 {
		return nil, fmt.Errorf("reading what agents trust: %s holds no certificate in PEM: put the CA's into it", path)
	}
	return certificatesOnly.Bytes(), nil
}

// inspect says when agents would not trust the certificate. The server goes on: they may know another CA, and the operator has more to
// do than this.
func (c *certificates) inspect(now tls.Certificate) {
	if err := c.fits(now); err != nil {
		c.log.Error(err, "Agents that start now will not trust the report server: correct the files in reports.certificateDir")
	}
}

// fits says whether an agent that starts now trusts a certificate.
func (c *certificates) fits(now tls.Certificate) error {
	pool, between := x509.NewCertPool(), x509.NewCertPool()
	pool.AppendCertsFromPEM(c.CA())
	var chain []*x509.Certificate
	for _, der := range now.Certificate {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("reading %s: %w", fileCertificate, err)
		}
		chain = append(chain, cert)
	}
	if len(chain) == 0 {
		return errors.New("reading " + fileCertificate + ": it is empty")
	}
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{DNSName: c.host, Roots: pool, Intermediates: between}); err != nil {
		return fmt.Errorf("verifying %s for %s: %w", fileCertificate, c.host, err)
	}
	return nil
}

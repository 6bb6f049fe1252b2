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
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// Files of the certificate directory: those of a Secret of type kubernetes.io/tls, as cert-manager writes it.
const (
	fileCertificate = "tls.crt"
	fileKey         = "tls.key"
	fileCA          = "ca.crt"
)

// maxCABytes: pods receive the CA in an environment variable, which Linux limits to 128 KiB.
const maxCABytes = 64 << 10

// certificates are the server's certificate and the CA that agents trust. Both follow their files.
//
// To replace a CA, first put the old and the new certificate into ca.crt: new pods trust both. When every
// running attempt has started after that, let the new CA sign the server's certificate. Then remove the old
// one from ca.crt.
type certificates struct {
	dir, host string
	log       logr.Logger

	mu sync.Mutex
	ca []byte
	// ends is when the server's certificate expires.
	ends time.Time
}

// loadCertificates reads the certificates of a server that agents reach under host.
func loadCertificates(dir, host string, log logr.Logger) (*certificates, error) {
	c := &certificates{dir: dir, host: host, log: log}
	var err error
	if c.ca, err = c.readCA(); err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, fileCertificate), filepath.Join(dir, fileKey))
	if err != nil {
		return nil, fmt.Errorf("reading the report server's certificate (%s and %s in reports.certificateDir): %w",
			fileCertificate, fileKey, err)
	}
	c.noteEnd(pair)
	return c, nil
}

// watch returns a watcher of the server's certificate. The caller must start it: its Start also frees it.
func (c *certificates) watch() (*certwatcher.CertWatcher, error) {
	watcher, err := certwatcher.New(filepath.Join(c.dir, fileCertificate), filepath.Join(c.dir, fileKey))
	if err != nil {
		return nil, fmt.Errorf("reading the report server's certificate: %w", err)
	}
	watcher.RegisterCallback(func(current tls.Certificate) {
		c.noteEnd(current)
		c.warnIfUntrusted(current)
	})
	return watcher, nil
}

// noteEnd records the expiry of the new certificate.
func (c *certificates) noteEnd(current tls.Certificate) {
	if current.Leaf == nil { // crypto/tls sets it when it reads a pair
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = current.Leaf.NotAfter
}

// end returns the expiry of the server's certificate.
func (c *certificates) end() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends
}

// caEnd returns when the last of the trusted certificates expires: an old one among them can expire before.
func (c *certificates) caEnd() time.Time {
	var last time.Time
	for rest := c.CA(); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return last
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && cert.NotAfter.After(last) {
			last = cert.NotAfter
		}
	}
}

// CA returns the certificates of ca.crt in PEM. If the file cannot be read, the last valid ones stay.
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

// readCA accepts only certificates: a private key in the file must not reach the pods.
func (c *certificates) readCA() ([]byte, error) {
	path := filepath.Join(c.dir, fileCA)
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the CA for agents (%s in reports.certificateDir): %w", fileCA, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCABytes+1))
	if err == nil && len(data) > maxCABytes {
		err = fmt.Errorf("%s has more than %d bytes: remove certificates of old CAs", path, maxCABytes)
	}
	var ca []byte
	if err == nil {
		ca, err = onlyCertificates(data, path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the CA for agents: %w", err)
	}
	return ca, nil
}

// onlyCertificates encodes the certificates of a PEM file again, without the text between them.
func onlyCertificates(data []byte, path string) ([]byte, error) {
	var out bytes.Buffer
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("%s contains a %s: keep only the CA's certificates", path, block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := pem.Encode(&out, &pem.Block{Type: block.Type, Bytes: block.Bytes}); err != nil {
			return nil, err
		}
	}
	if out.Len() == 0 {
		return nil, fmt.Errorf("%s has no certificate in PEM: add the CA's", path)
	}
	return out.Bytes(), nil
}

// warnIfUntrusted logs that agents would not trust a new certificate. The server continues: agents can have
// another CA, and the operator does more than serve reports.
func (c *certificates) warnIfUntrusted(current tls.Certificate) {
	if err := c.verify(current); err != nil {
		c.log.Error(err, "Agents that start now will not trust the report server: "+
			"correct the files in reports.certificateDir")
	}
}

// verify returns an error if an agent that starts now would not trust the certificate.
func (c *certificates) verify(current tls.Certificate) error {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(c.CA())
	var chain []*x509.Certificate
	for _, der := range current.Certificate {
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
		intermediates.AddCert(cert)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{DNSName: c.host, Roots: roots, Intermediates: intermediates})
	if err != nil {
		return fmt.Errorf("verifying %s for %s: %w", fileCertificate, c.host, err)
	}
	return nil
}

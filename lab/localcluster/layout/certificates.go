package layout

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// ServiceRange is the range of cluster IPs.
const ServiceRange = "10.96.0.0/16"

// serviceIP is the first address of ServiceRange, that of the Service "kubernetes".
func serviceIP() net.IP { return net.IPv4(10, 96, 0, 1) }

// certificateLife is far longer than any local cluster's.
const certificateLife = 365 * 24 * time.Hour

// authority signs certificates; its key is never written down.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func newAuthority() (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, fmt.Errorf("generating the authority's key: %w", err)
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "localcluster"}, key)
	if err != nil {
		return authority{}, fmt.Errorf("creating the authority's certificate: %w", err)
	}
	return authority{ca, key}, nil
}

// issue signs a certificate for a new key and returns both as PEM.
func (a authority) issue(
	subject pkix.Name, names cert.AltNames, usages ...x509.ExtKeyUsage,
) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generating a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		DNSNames:     names.DNSNames,
		IPAddresses:  names.IPs,
		NotBefore:    a.cert.NotBefore,
		NotAfter:     time.Now().Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  usages,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("signing the certificate of %s: %w", subject.CommonName, err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the certificate of %s: %w", subject.CommonName, err)
	}
	if certPEM, err = cert.EncodeCertificates(signed); err != nil {
		return nil, nil, fmt.Errorf("encoding the certificate of %s: %w", subject.CommonName, err)
	}
	if keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key); err != nil {
		return nil, nil, fmt.Errorf("encoding the key of %s: %w", subject.CommonName, err)
	}
	return certPEM, keyPEM, nil
}

// WriteCertificates makes every certificate and key of the cluster. Every server has the same serving
// certificate, valid for the loopback address and for ips, and every client the administrator's: one user
// owns the cluster and all its processes.
func WriteCertificates(l Layout, ips ...net.IP) error {
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	if files[l.CA()], err = cert.EncodeCertificates(ca.cert); err != nil {
		return fmt.Errorf("encoding the authority's certificate: %w", err)
	}
	// etcd's peers use their serving certificate as clients, too.
	files[l.ServerCert()], files[l.ServerKey()], err = ca.issue(
		pkix.Name{CommonName: "localcluster-server"},
		cert.AltNames{
			DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
			IPs:      append([]net.IP{net.IPv4(127, 0, 0, 1), serviceIP()}, ips...),
		},
		x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return err
	}
	files[l.AdminCert()], files[l.AdminKey()], err = ca.issue(
		pkix.Name{CommonName: "localcluster-admin", Organization: []string{user.SystemPrivilegedGroup}},
		cert.AltNames{}, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return err
	}
	if files[l.AccountsKey()], err = keyutil.MakeEllipticPrivateKeyPEM(); err != nil {
		return fmt.Errorf("generating the service accounts' key: %w", err)
	}
	if err := os.MkdirAll(l.PKI(), 0o700); err != nil {
		return fmt.Errorf("creating the pki folder: %w", err)
	}
	for path, content := range files {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

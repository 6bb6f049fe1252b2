package layout

import (
	"crypto/x509"
	"os"
	"testing"

	"k8s.io/client-go/util/cert"
)

func TestCertificates(t *testing.T) {
	files := Layout{t.TempDir()}
	if err := WriteCertificates(files); err != nil {
		t.Fatal(err)
	}
	pool, err := cert.NewPool(files.CA())
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) *x509.Certificate {
		t.Helper()
		certs, err := cert.CertsFromFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return certs[0]
	}
	for _, host := range []string{"127.0.0.1", "localhost", "kubernetes.default.svc", "10.96.0.1"} {
		options := x509.VerifyOptions{
			Roots: pool, DNSName: host, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}
		if _, err := read(files.ServerCert()).Verify(options); err != nil {
			t.Errorf("the serving certificate for %s: %v", host, err)
		}
	}
	admin := read(files.AdminCert())
	asClient := x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := admin.Verify(asClient); err != nil {
		t.Errorf("the administrator's certificate: %v", err)
	}
	if len(admin.Subject.Organization) != 1 || admin.Subject.Organization[0] != "system:masters" {
		t.Errorf("the administrator is %v", admin.Subject)
	}
}

func TestKubeconfig(t *testing.T) {
	files := Layout{t.TempDir()}
	if err := WriteCertificates(files); err != nil {
		t.Fatal(err)
	}
	if err := WriteKubeconfig(files, files.Kubeconfig(), "https://127.0.0.1:20001"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(files.Kubeconfig())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it holds a private key and has mode %v, %v", info.Mode(), err)
	}
	config, err := ReadKubeconfig(files)
	if err != nil || config.Host != "https://127.0.0.1:20001" || len(config.CertData) == 0 || config.QPS != -1 {
		t.Errorf("read back: %+v, %v", config, err)
	}
}

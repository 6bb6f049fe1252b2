package localcluster

import (
	"crypto/x509"
	"os"
	"testing"

	"k8s.io/client-go/util/cert"
)

func TestPKI(t *testing.T) {
	files := layout{t.TempDir()}
	if err := writePKI(files); err != nil {
		t.Fatal(err)
	}
	pool, err := cert.NewPool(files.pkiFile(fileCA))
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) *x509.Certificate {
		t.Helper()
		certs, err := cert.CertsFromFile(files.pkiFile(name))
		if err != nil {
			t.Fatal(err)
		}
		return certs[0]
	}
	for _, host := range []string{"127.0.0.1", "localhost", "kubernetes.default.svc", "10.96.0.1"} {
		options := x509.VerifyOptions{Roots: pool, DNSName: host, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		if _, err := read(fileServerCert).Verify(options); err != nil {
			t.Errorf("the serving certificate for %s: %v", host, err)
		}
	}
	admin := read(fileAdminCert)
	if _, err := admin.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("the administrator's certificate: %v", err)
	}
	if len(admin.Subject.Organization) != 1 || admin.Subject.Organization[0] != "system:masters" {
		t.Errorf("the administrator is %v", admin.Subject)
	}
}

func TestKubeconfig(t *testing.T) {
	files := layout{t.TempDir()}
	if err := writePKI(files); err != nil {
		t.Fatal(err)
	}
	if err := writeKubeconfig(files, "https://127.0.0.1:20001"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(files.kubeconfig())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it holds a private key and has mode %v, %v", info.Mode(), err)
	}
	config, err := readKubeconfig(files)
	if err != nil || config.Host != "https://127.0.0.1:20001" || len(config.CertData) == 0 || config.QPS != -1 {
		t.Errorf("read back: %+v, %v", config, err)
	}
}

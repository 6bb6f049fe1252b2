package reportserver

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// TestCertificateEnds: those of the files, and of a certificate that replaces them. Of several CAs the last
// counts, since an old one stays among them for a while.
func TestCertificateEnds(t *testing.T) {
	dir := t.TempDir()
	old, next := newAuthority(t, "old"), newAuthority(t, "next")
	next.serve(t, dir, old, next)
	c, err := loadCertificates(dir, host, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(dir+"/"+fileCertificate, dir+"/"+fileKey)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.end(); got.IsZero() || !got.Equal(pair.Leaf.NotAfter) {
		t.Errorf("got %s, the file says %s", got, pair.Leaf.NotAfter)
	}
	renewed := *pair.Leaf
	renewed.NotAfter = renewed.NotAfter.Add(time.Hour)
	c.noteEnd(tls.Certificate{Leaf: &renewed})
	if got := c.end(); !got.Equal(renewed.NotAfter) {
		t.Errorf("a certificate that replaces it: got %s", got)
	}
	want := old.cert.NotAfter
	if next.cert.NotAfter.After(want) {
		want = next.cert.NotAfter
	}
	if got := c.caEnd(); !got.Equal(want) {
		t.Errorf("the CAs: got %s, want %s", got, want)
	}
}

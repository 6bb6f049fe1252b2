package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The server and later commands must be able to read the configuration.
func TestConfigurationOfTheServer(t *testing.T) {
	s := newServer(t.TempDir(), "")
	if _, err := s.configured(); err == nil || !strings.Contains(err.Error(), "make demo") {
		t.Errorf("nothing was configured: %v", err)
	}
	if err := s.configure("127.0.0.1:1234", "127.0.0.1:1235"); err != nil {
		t.Fatal(err)
	}
	got, err := s.configured()
	if err != nil || got.Validate() != nil {
		t.Fatal(err, got.Validate())
	}
	link := got.Board.OneTimeLink
	if got.Listen.BindAddress != "127.0.0.1:1234" || got.Health.BindAddress != "127.0.0.1:1235" ||
		link.User != visitorName || link.File != s.linkFile() || filepath.Dir(link.File) != s.folder ||
		!strings.HasPrefix(got.Database.URL, "sqlite://"+s.folder) {
		t.Errorf("%+v", got)
	}
}

// The link of an earlier server is never returned.
func TestLink(t *testing.T) {
	s := newServer(t.TempDir(), "")
	if err := os.WriteFile(s.linkFile(), []byte("http://127.0.0.1:1/login?once=a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if link, err := s.link(); link != "http://127.0.0.1:1/login?once=a" || err != nil {
		t.Errorf("got %q, %v", link, err)
	}
	for range 2 { // the second time there is none
		if err := s.forgetLink(); err != nil {
			t.Error(err)
		}
	}
	if link, err := s.link(); err == nil {
		t.Errorf("got %q", link)
	}
}

// The binding names the visitor.
func TestVisitor(t *testing.T) {
	objects, err := readObjects(filepath.Join("..", "..", visitorFile))
	if err != nil || len(objects) != 2 {
		t.Fatal(objects, err)
	}
	subjects, _, _ := unstructured.NestedSlice(objects[1].Object, "subjects")
	if len(subjects) != 1 || subjects[0].(map[string]any)["name"] != visitorName {
		t.Errorf("bound is %v", subjects)
	}
}

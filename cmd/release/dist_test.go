package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestChecksums: they are of every file that was written, sorted, as sha256sum writes and checks them.
func TestChecksums(t *testing.T) {
	d, err := newDist(filepath.Join(t.TempDir(), "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"z.txt", "a.tar"} {
		if err := d.write(name, []byte("this is "+name)); err != nil {
			t.Fatal(err)
		}
	}
	var printed strings.Builder
	if err := d.finish(&printed); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(d.dir, checksumsFile))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%x  a.tar\n%x  z.txt\n", sha256.Sum256([]byte("this is a.tar")),
		sha256.Sum256([]byte("this is z.txt")))
	if string(got) != want {
		t.Errorf("checksums:\n%swant:\n%s", got, want)
	}
	check := func() error {
		cmd := exec.Command("sha256sum", "--check", "--strict", checksumsFile)
		cmd.Dir = d.dir
		return cmd.Run()
	}
	if err := check(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "z.txt"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if check() == nil {
		t.Error("sha256sum did not notice that a file has changed")
	}
	for _, name := range []string{"a.tar", "z.txt", checksumsFile} {
		if !strings.Contains(printed.String(), filepath.Join(d.dir, name)) {
			t.Errorf("%s is not printed:\n%s", name, &printed)
		}
	}
}

// TestBrokenFile: a file that could not be written is an error, and has no checksum.
func TestBrokenFile(t *testing.T) {
	d, err := newDist(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := d.create("x", func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if len(d.names()) > 0 {
		t.Errorf("files %v", d.names())
	}
}

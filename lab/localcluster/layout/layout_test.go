package layout

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAForeignDirectoryIsRefused(t *testing.T) {
	files := Layout{t.TempDir()}
	if err := os.MkdirAll(files.Logs(), 0o755); err != nil { // logs of the user
		t.Fatal(err)
	}
	if err := files.Create(); err == nil {
		t.Error("it was taken")
	}
}

func TestOnlyOursIsRemoved(t *testing.T) {
	files := Layout{filepath.Join(t.TempDir(), "cluster")}
	if err := files.Create(); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(files.Dir, "notes.txt")
	for _, path := range []string{files.Lock(), files.State(), files.Kubeconfig(), foreign} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Create(); err != nil {
		t.Errorf("a directory with our lock was refused: %v", err)
	}
	if err := files.Remove(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(files.Dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "notes.txt" {
		t.Errorf("left are %v, %v; want notes.txt", entries, err)
	}
}

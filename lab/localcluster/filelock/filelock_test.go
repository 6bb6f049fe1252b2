package filelock

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestLockIsExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(path); !errors.Is(err, ErrLocked) {
		t.Errorf("the second got %v", err)
	}
	first.Close()
	if _, err := Try(path); err != nil {
		t.Errorf("after the unlock: %v", err)
	}
}

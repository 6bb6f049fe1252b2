// Package filelock keeps two processes from doing the same work at once. A lock is a file; the kernel
// releases it when its holder ends, however it ends, so no lock is ever stale.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// ErrLocked means that another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// Try takes an exclusive lock on the file, which it creates, or returns ErrLocked. The lock is held until
// every descriptor of the returned file is closed: a child process that inherits one holds the lock too.
func Try(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return file, nil
}

// Wait waits until it holds the lock that Try takes.
func Wait(ctx context.Context, path string) (*os.File, error) {
	var file *os.File
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		var err error
		file, err = Try(path)
		if errors.Is(err, ErrLocked) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for the lock %s: %w", path, err)
	}
	return file, nil
}

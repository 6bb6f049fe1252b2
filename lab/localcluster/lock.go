package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// errLocked says that another process holds the lock.
var errLocked = errors.New("locked by another process")

// tryLockFile takes an exclusive lock on the file, which the kernel gives back
// when this process ends, however it ends.
func tryLockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { file.Close() }, nil
}

// lockFile waits for the lock.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		var err error
		unlock, err = tryLockFile(path)
		if errors.Is(err, errLocked) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for the lock %s: %w", path, err)
	}
	return unlock, nil
}

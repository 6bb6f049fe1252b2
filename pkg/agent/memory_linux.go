package agent

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// limitMemory lets this process's address space grow by at most n bytes from now on, and offers the process
// to the kernel first when memory is short. A Go program reserves address space that it never uses, so what
// it has at its start is not a part of n.
func limitMemory(n uint64) error {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(data), &pages); err != nil || pages == 0 {
		return errors.New("/proc/self/statm has another form")
	}
	limit := pages*uint64(os.Getpagesize()) + n
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit})
}

//go:build !linux

package process

import "syscall"

// The package compiles elsewhere, but processes are identified by /proc: localcluster.Up runs on Linux only.

func processAttributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func mountAttributes(bool) []*syscall.SysProcAttr { return []*syscall.SysProcAttr{{}} }

func separateAttributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

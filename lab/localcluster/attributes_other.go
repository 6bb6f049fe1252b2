//go:build !linux

package localcluster

import "syscall"

// processAttributes exists so that the package compiles elsewhere; Up refuses
// to run there, since it identifies processes by /proc.
func processAttributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func mountAttributes(bool) []*syscall.SysProcAttr { return []*syscall.SysProcAttr{{}} }

func separateAttributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

package agent

import "syscall"

func mountTmpfs(dir string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k") }

func unmount(dir string) { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }

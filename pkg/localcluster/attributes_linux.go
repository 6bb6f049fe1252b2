package localcluster

import "syscall"

// processAttributes puts a child out of reach of the terminal's signals: an
// attached one into a group of its own, dying with us even if we are killed; a
// detached one into a session of its own, so that it outlives the command.
func processAttributes(attached bool) *syscall.SysProcAttr {
	if attached {
		return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	}
	return &syscall.SysProcAttr{Setsid: true}
}

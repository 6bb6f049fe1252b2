package localcluster

import (
	"os"
	"syscall"
)

// processAttributes puts a child out of reach of the terminal's signals: an
// attached one into a group of its own, dying with us even if we are killed; a
// detached one into a session of its own, so that it outlives the command.
func processAttributes(attached bool) *syscall.SysProcAttr {
	if attached {
		return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	}
	return &syscall.SysProcAttr{Setsid: true}
}

// separateAttributes make a child the first process of a machine of its own, whose
// mounts nobody else sees: for root alone.
func separateAttributes(attached bool) *syscall.SysProcAttr {
	a := processAttributes(attached)
	a.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNET
	a.Unshareflags = syscall.CLONE_NEWNS
	return a
}

// mountAttributes are the ways for a child to mount what nobody else sees: as
// root in a mount namespace of its own, whose mounts Go makes private; else, or
// where root may not, in a user namespace too, in which it is root.
func mountAttributes(attached bool) []*syscall.SysProcAttr {
	own := processAttributes(attached)
	own.Unshareflags = syscall.CLONE_NEWNS
	asRoot := processAttributes(attached)
	asRoot.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER
	asRoot.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
	asRoot.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	if os.Geteuid() == 0 {
		return []*syscall.SysProcAttr{own, asRoot}
	}
	return []*syscall.SysProcAttr{asRoot}
}

package process

import (
	"os"
	"syscall"
)

// processAttributes keep the terminal's signals from a child. An attached one gets a process group of its own
// and dies with us, even if we are killed; a detached one gets a session of its own and outlives us.
func processAttributes(attached bool) *syscall.SysProcAttr {
	if attached {
		return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	}
	return &syscall.SysProcAttr{Setsid: true}
}

// separateAttributes make a child the first process of namespaces of its own. Only root may.
func separateAttributes(attached bool) *syscall.SysProcAttr {
	a := processAttributes(attached)
	a.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNET
	a.Unshareflags = syscall.CLONE_NEWNS
	return a
}

// mountAttributes returns the ways for a child to have private mounts: as root in a mount namespace, whose
// mounts Go makes private; otherwise also in a user namespace, in which the child is root.
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

package agent

import (
	"os"
	"syscall"
)

// becomeSubreaper makes the agent the parent of orphaned grandchildren, for when it is not PID 1
// (shareProcessNamespace, tests).
func becomeSubreaper() {
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER, prctl(2)
	if os.Getpid() != 1 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
	}
}

//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// The node's processes are in PID namespaces of their own, one for the node and one for each container. A
// parent namespace sees those below it, so this machine's /proc lists them under other numbers.

// trainerOf returns the process of a rank's program: the child of the agent, which is the first process of
// its container.
func (j *training) trainerOf(rank int) int {
	j.t.Helper()
	uid := string(j.get().UID)
	var found []int
	for _, pid := range processes() {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil { // the process has ended
			continue
		}
		has := func(name, value string) bool {
			return bytes.Contains(append([]byte{0}, env...), []byte("\x00"+name+"="+value+"\x00"))
		}
		isRank := has("RANK", strconv.Itoa(rank)) || has("JAX_PROCESS_ID", strconv.Itoa(rank))
		if has(checkpoint.EnvJobUID, uid) && isRank && !firstOfContainer(pid) {
			found = append(found, pid)
		}
	}
	if len(found) != 1 {
		j.t.Fatalf("the processes of rank %d are %v, not one", rank, found)
	}
	return found[0]
}

func processes() (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		if pid, err := strconv.Atoi(filepath.Base(name)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// firstOfContainer reports whether a process has number 1 in the innermost of its PID namespaces. A process
// that has ended has not.
func firstOfContainer(pid int) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for text := range strings.Lines(string(status)) {
		if numbers, ok := strings.CutPrefix(text, "NSpid:"); ok {
			fields := strings.Fields(numbers)
			return len(fields) > 1 && fields[len(fields)-1] == "1"
		}
	}
	return false
}

// signal one process.
func (j *training) signal(pid int, s syscall.Signal) {
	j.t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		j.t.Fatalf("sending %s to process %d: %v", s, pid, err)
	}
}

// sandboxOf returns all processes of the process's pod: those that share its network namespace. One is the
// pause process, the others belong to the containers.
func (j *training) sandboxOf(pid int) []int {
	j.t.Helper()
	network := func(pid int) string {
		name, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
		return name
	}
	theirs := network(pid)
	var found []int
	for _, other := range processes() {
		if network(other) == theirs {
			found = append(found, other)
		}
	}
	// Pause, the agent and the trainer, and at times the agent's child that reads a checkpoint. The network
	// namespace of this machine or of the node has more.
	if theirs == "" || theirs == network(os.Getpid()) || len(found) < 3 || len(found) > 4 {
		j.t.Fatalf("the processes of the pod of %d are %v, not three or four", pid, found)
	}
	return found
}

// killSandbox kills all processes of a rank's pod at once, as a crash of the machine would.
func (j *training) killSandbox(rank int) {
	j.t.Helper()
	for _, pid := range j.sandboxOf(j.trainerOf(rank)) {
		// When the agent ends the kernel kills the rest of its container.
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			j.t.Fatalf("killing process %d: %v", pid, err)
		}
	}
}

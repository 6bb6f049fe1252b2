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

// trainerOf returns the process of a rank's program, such as worker-1's: the child of the agent, which is the
// first process of its container. Programs may have children of their own.
func (j *training) trainerOf(rank string) int {
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
		isRank := has(checkpoint.EnvJobUID, uid) && has("POD_NAME", j.name+"-"+rank)
		if isRank && !firstOfContainer(pid) && firstOfContainer(parentOf(pid)) && !isAgent(pid) {
			found = append(found, pid)
		}
	}
	if len(found) != 1 {
		j.t.Fatalf("the processes of %s are %v, not one", rank, found)
	}
	return found[0]
}

// isAgent reports whether a process is the agent's, which reads checkpoints in a child of itself.
func isAgent(pid int) bool {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return filepath.Base(name) == "agent"
}

// parentOf returns 0 for a process that has ended.
func parentOf(pid int) int {
	parent, _ := strconv.Atoi(strings.TrimSpace(statusOf(pid, "PPid:")))
	return parent
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
	numbers := strings.Fields(statusOf(pid, "NSpid:"))
	return len(numbers) > 1 && numbers[len(numbers)-1] == "1"
}

// statusOf returns a value of a process's status; "" if the process has ended.
func statusOf(pid int, name string) string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for text := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(text, name); ok {
			return value
		}
	}
	return ""
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
func (j *training) killSandbox(rank string) {
	j.t.Helper()
	for _, pid := range j.sandboxOf(j.trainerOf(rank)) {
		// When the agent ends the kernel kills the rest of its container.
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			j.t.Fatalf("killing process %d: %v", pid, err)
		}
	}
}

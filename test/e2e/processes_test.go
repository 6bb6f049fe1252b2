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

// The node's processes live in PID namespaces of their own, one for the node and one for each container in
// it, but a parent namespace sees all that is below: /proc of this machine has them, under other numbers.

// trainerOf is the process of a rank's program, the child of the agent, which is the first process of its
// container.
func (j *training) trainerOf(rank int) int {
	j.t.Helper()
	uid := string(j.get().UID)
	var found []int
	for _, pid := range processes() {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil { // it has ended
			continue
		}
		has := func(name, value string) bool {
			return bytes.Contains(append([]byte{0}, env...), []byte("\x00"+name+"="+value+"\x00"))
		}
		if has(checkpoint.EnvJobUID, uid) && has("RANK", strconv.Itoa(rank)) && !firstOfContainer(pid) {
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

// firstOfContainer by its number in the innermost of its PID namespaces. A process that has ended is none.
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

// sandboxOf is all processes of the pod that the process is in: they share a network, with nobody else. One
// holds it open (pause), the others are the containers'.
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
	// Pause, the agent and the trainer. The network of this machine, or of the node, has more.
	if theirs == "" || theirs == network(os.Getpid()) || len(found) != 3 {
		j.t.Fatalf("the processes of the pod of %d are %v, not three", pid, found)
	}
	return found
}

// killSandbox ends all of a rank's pod at once, as if the machine had lost it.
func (j *training) killSandbox(rank int) {
	j.t.Helper()
	for _, pid := range j.sandboxOf(j.trainerOf(rank)) {
		// With the agent's end the kernel kills all of its container.
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			j.t.Fatalf("killing process %d: %v", pid, err)
		}
	}
}

package agent

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// TestStoppedProcessIsSeen: a real process gets SIGSTOP.
func TestStoppedProcessIsSeen(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while :; do read x || exit; done")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		in.Close()
		cmd.Wait()
	}()
	c := ownContainer()
	state := func() checkpoint.ProcessState {
		all, ok := c.processes()
		if !ok {
			t.Fatal("the processes are unknown")
		}
		for _, p := range all {
			if p.pid == cmd.Process.Pid {
				return processStates{}.next(time.Now(), []process{p}).state
			}
		}
		return ""
	}
	eventually(t, "it sleeps", func() bool { return state() == checkpoint.ProcessSleeps })
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is stopped", func() bool { return state() == checkpoint.ProcessStopped })
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it sleeps again", func() bool { return state() == checkpoint.ProcessSleeps })
}

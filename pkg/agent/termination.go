package agent

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const defaultTerminationLog = "/dev/termination-log"

// terminationOf returns the termination message of a trainer that has ended.
func terminationOf(
	s *state, attempt int32, w syscall.WaitStatus, killed bool, stderr string,
) checkpoint.Termination {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := checkpoint.Termination{
		ExitCode: int32(exitCode(w)), Attempt: attempt, Checkpoint: s.commit, Layout: s.layout,
		PassedOver: s.passedOver, Problem: s.problemText(),
	}
	if s.status != nil {
		t.Phase = s.status.Phase.Reported()
		if s.kubeflow == nil || s.kubeflow.hasStep {
			step := s.status.Step
			t.Step = &step
		}
	}
	switch {
	case killed:
		t.Reason = checkpoint.ExitGraceExceeded
	case w.Signaled():
		t.Reason = checkpoint.ExitSignaled
	case w.ExitStatus() == 0 && t.Phase == checkpoint.PhaseCompleted:
		t.Reason = checkpoint.ExitCompleted
	default:
		t.Reason = checkpoint.ExitExited
	}
	if w.Signaled() {
		t.Signal = signalName(w.Signal())
	}
	if t.ExitCode != 0 {
		t.Log = stderr
	}
	return t
}

func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE", syscall.SIGHUP: "SIGHUP",
		syscall.SIGILL: "SIGILL", syscall.SIGINT: "SIGINT", syscall.SIGKILL: "SIGKILL", syscall.SIGPIPE: "SIGPIPE",
		syscall.SIGQUIT: "SIGQUIT", syscall.SIGSEGV: "SIGSEGV", syscall.SIGTERM: "SIGTERM",
	}
	if n, ok := names[s]; ok {
		return n
	}
	return fmt.Sprintf("signal %d", int(s))
}

// encodeBounded encodes a message within the kubelet's bound. It first cuts the log from its beginning,
// then drops other fields.
func encodeBounded(t checkpoint.Termination) ([]byte, error) {
	t.Log = strings.ToValidUTF8(t.Log, "?")
	for {
		data, err := checkpoint.Encode(t)
		if err != nil || len(data) <= checkpoint.MaxTerminationBytes {
			return data, err
		}
		switch {
		case len(t.Log) > 64:
			cut := len(t.Log) - len(t.Log)*3/4
			for !utf8.RuneStart(t.Log[cut]) {
				cut++
			}
			t.Log = t.Log[cut:]
		case t.Log != "":
			t.Log = ""
		case len(t.PassedOver) > 0:
			t.PassedOver = t.PassedOver[:len(t.PassedOver)-1]
		case t.Problem != "":
			t.Problem = ""
		default:
			return nil, fmt.Errorf("the termination message has %d bytes", len(data))
		}
	}
}

// writeTermination writes in place: the kubelet mounts the file, so it cannot be renamed. What the
// trainer wrote there itself (such as torch's error file) takes the place of the log.
func writeTermination(path string, t checkpoint.Termination) error {
	if path == "" {
		return nil
	}
	if _, err := os.Stat(path); path == defaultTerminationLog && err != nil {
		return nil // no kubelet has mounted it
	}
	own, err := readBounded(path, checkpoint.MaxTerminationBytes)
	if err == nil && len(bytes.TrimSpace(own)) > 0 && t.ExitCode != 0 {
		// A message that parses is an earlier container's, not the trainer's.
		if _, err := checkpoint.ParseTermination(own); err != nil {
			t.Log = string(own[:min(len(own), checkpoint.MaxTerminationBytes)])
		}
	}
	data, err := encodeBounded(t)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("writing the termination message: %w", err)
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("writing the termination message: %w", err)
	}
	return nil
}

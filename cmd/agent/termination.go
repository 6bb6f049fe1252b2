package main

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

// lastWord is what the termination message says of a trainer that has ended.
func lastWord(v *view, o *options, w syscall.WaitStatus, killed bool, log string) checkpoint.Termination {
	v.mu.Lock()
	defer v.mu.Unlock()
	t := checkpoint.Termination{
		ExitCode: int32(exitCode(w)), Attempt: o.attempt, Checkpoint: v.commit, Layout: v.layout, PassedOver: v.passed, Problem: v.problemText(),
	}
	if v.status != nil {
		step := v.status.Step
		t.Phase, t.Step = v.status.Phase, &step
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
		t.Log = log
	}
	return t
}

func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGKILL: "SIGKILL", syscall.SIGTERM: "SIGTERM", syscall.SIGINT: "SIGINT", syscall.SIGSEGV: "SIGSEGV", syscall.SIGABRT: "SIGABRT",
		syscall.SIGBUS: "SIGBUS", syscall.SIGHUP: "SIGHUP", syscall.SIGQUIT: "SIGQUIT", syscall.SIGFPE: "SIGFPE", syscall.SIGILL: "SIGILL", syscall.SIGPIPE: "SIGPIPE",
	}
	if n, ok := names[s]; ok {
		return n
	}
	return fmt.Sprintf("signal %d", int(s))
}

// fit encodes a message within the kubelet's bound: first the log gets shorter from its beginning, then the rest goes.
func fit(t checkpoint.Termination) ([]byte, error) {
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

// writeTermination writes in place: the kubelet mounts the file, so it cannot be renamed. What the trainer wrote there itself
// (torch's error file, for one) is its own last word and takes the place of the log's end.
func writeTermination(path string, t checkpoint.Termination) error {
	if path == "" {
		return nil
	}
	if _, err := os.Stat(path); path == defaultTerminationLog && err != nil {
		return nil // no kubelet has put it there
	}
	if own, err := readBounded(path, checkpoint.MaxTerminationBytes); err == nil && len(bytes.TrimSpace(own)) > 0 && t.ExitCode != 0 {
		if _, err := checkpoint.ParseTermination(own); err != nil { // not one of ours, from before a restart
			t.Log = string(own[:min(len(own), checkpoint.MaxTerminationBytes)])
		}
	}
	data, err := fit(t)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("writing the termination message: %w", err)
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("writing the termination message: %w", err)
	}
	return nil
}

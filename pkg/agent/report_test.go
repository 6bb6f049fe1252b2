package agent

import (
	"errors"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/reportclient"
)

func TestTokensAndCAsRotate(t *testing.T) {
	s := server{tokenFile: writeFile(t, filepath.Join(t.TempDir(), "token"), "old\n"),
		caFile: writeFile(t, filepath.Join(t.TempDir(), "ca"), "old")}
	for _, want := range []string{"old", "new"} {
		token, err := s.token(t.Context())
		ca, err2 := s.ca()
		if token != want || ca != want || err != nil || err2 != nil {
			t.Errorf("want %s, got token %q, CA %q: %v, %v", want, token, ca, err, err2)
		}
		writeFile(t, s.tokenFile, "new")
		writeFile(t, s.caFile, "new")
	}
	writeFile(t, s.tokenFile, strings.Repeat("x", maxTokenBytes+1))
	if _, err := s.token(t.Context()); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a token without measure: %v", err)
	}
	writeFile(t, s.tokenFile, "\n")
	if _, err := s.token(t.Context()); err == nil ||
		!strings.Contains(err.Error(), s.tokenFile+" holds no token") {
		t.Errorf("an empty token: %v", err)
	}
	if _, err := (server{}).ca(); err == nil || !strings.Contains(err.Error(), "--ca-file") {
		t.Errorf("no CA: %v", err)
	}
}

// TestServerErrorsAreOnlyLogged: with a problem in the termination message the operator would search the
// volume.
func TestServerErrorsAreOnlyLogged(t *testing.T) {
	st := newReporterFixture(t)
	st.handle = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }
	st.PostOnce(t.Context())
	reported := st.state.report(1).Problem
	left := terminationOf(st.state, st.opts.attempt, 0, false, "").Problem
	if reported+left != "" || !strings.Contains(st.logged.String(), "503") {
		t.Errorf("reported %q, termination message %q, log %q", reported, left, st.logged.String())
	}
}

// reporterFixture is a reporter with a server whose behaviour the test changes between reports.
type reporterFixture struct {
	*reportclient.Reporter
	opts    *options
	state   *state
	handle  http.HandlerFunc
	logged  strings.Builder
	signals int
}

func newReporterFixture(t *testing.T) *reporterFixture {
	st := &reporterFixture{state: newState()}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		st.handle(w, r)
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	st.opts = &options{attempt: 1, commandFile: filepath.Join(dir, "command.json"), server: server{
		url: s.URL, tokenFile: writeFile(t, filepath.Join(dir, "token"), "token"), caPEM: caOf(s),
	}}
	st.Reporter = newReporter(st.opts, st.state, newFakeClock(), log.New(&st.logged, "", 0),
		func(syscall.Signal) { st.signals++ })
	return st
}

func answering(a checkpoint.Answer) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		data, _ := checkpoint.Encode(a)
		w.Write(data)
	}
}

func TestCommandsAreHandedOverOnceAndWhole(t *testing.T) {
	r := newReporterFixture(t)
	r.opts.checkpointSignal = syscall.SIGUSR1
	deadline := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	r.handle = answering(checkpoint.Answer{Command: checkpoint.CommandCheckpoint, ID: "a", Deadline: &deadline})
	r.PostOnce(t.Context())
	c, err := checkpoint.ParseCommand([]byte(read(t, r.opts.commandFile)))
	if err != nil || c.Command != checkpoint.CommandCheckpoint || c.ID != "a" || !c.Deadline.Equal(deadline) ||
		r.signals != 1 {
		t.Fatalf("%+v, %v, %d signals", c, err, r.signals)
	}
	os.Remove(r.opts.commandFile)
	r.PostOnce(t.Context())
	if exists(r.opts.commandFile) || r.signals != 1 || r.state.report(1).DeliveredID != "a" {
		t.Error("the same command came twice")
	}
	r.handle = answering(checkpoint.Answer{Command: checkpoint.CommandCheckpointAndExit, ID: "b"})
	r.PostOnce(t.Context())
	if c, err := checkpoint.ParseCommand([]byte(read(t, r.opts.commandFile))); err != nil || c.ID != "b" ||
		r.signals != 2 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestAFullDiskLosesNoCommand: on a full tmpfs the command cannot be written. It is tried again soon, and
// the old command stays whole until then.
func TestAFullDiskLosesNoCommand(t *testing.T) {
	dir := t.TempDir()
	if err := mountTmpfs(dir); err != nil {
		if runtime.GOOS == "linux" && os.Getuid() == 0 && !errors.Is(err, syscall.EPERM) {
			t.Fatal(err)
		}
		t.Skipf("a tiny file system needs root: %v", err)
	}
	defer unmount(dir)
	r := newReporterFixture(t)
	r.opts.commandFile = filepath.Join(dir, "command.json")
	r.handle = answering(checkpoint.Answer{Command: checkpoint.CommandCheckpoint, ID: "a"})
	r.PostOnce(t.Context())
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	f.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	r.handle = answering(checkpoint.Answer{Command: checkpoint.CommandCheckpointAndExit, ID: "b"})
	if wait := r.PostOnce(t.Context()); wait != reportclient.FirstBackoff ||
		!strings.Contains(r.state.report(1).Problem, "no space left") {
		t.Errorf("waits %s: %q", wait, r.state.report(1).Problem)
	}
	if c, err := checkpoint.ParseCommand([]byte(read(t, r.opts.commandFile))); err != nil || c.ID != "a" {
		t.Errorf("the old command is gone: %+v, %v", c, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
	os.Remove(filler)
	r.handle = answering(checkpoint.Answer{Command: checkpoint.CommandNone})
	r.PostOnce(t.Context())
	if c, err := checkpoint.ParseCommand([]byte(read(t, r.opts.commandFile))); err != nil || c.ID != "b" ||
		r.state.report(1).Problem != "" {
		t.Errorf("%+v, %v", c, err)
	}
}

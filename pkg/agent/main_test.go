package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// TestMain is also the trainer, and the child of an agent in this process: the tests start the real agent,
// and the agent starts the test binary again.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "trainer" {
		os.Exit(trainerMain(os.Args[2]))
	}
	if len(os.Args) > 1 && os.Args[1] == scanCommand { // for agents that run in the tests' own process
		os.Exit(Main(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 2 && os.Args[1] == "hog" {
		piece, _ := strconv.Atoi(os.Args[2])
		os.Exit(hog(piece))
	}
	if len(os.Args) > 2 && os.Args[1] == "large" {
		os.Exit(scanLargeVolume())
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "agent")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "agent")
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "../../cmd/agent")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the agent: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// binary is the agent as it is shipped.
var binary string

// trainerMain is a trainer that behaves as its name says.
func trainerMain(how string) int {
	say := func(name, text string) {
		if err := os.WriteFile(filepath.Join(os.Getenv("TEST_DIR"), name), []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	status := func(s checkpoint.Status) {
		data, _ := json.Marshal(s)
		if err := writeFileAtomically(os.Getenv(checkpoint.EnvStatusFile), data); err != nil {
			panic(err)
		}
	}
	switch how {
	case "ends well":
		return 0
	case "exits 7":
		fmt.Fprintln(os.Stderr, "Traceback: something is wrong")
		return 7
	case "kills itself":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Hour)
	case "saves when asked by signal":
		c := make(chan os.Signal, 4)
		signal.Notify(c, syscall.SIGTERM, syscall.SIGUSR1)
		say("ready", "")
		for s := range c {
			say(s.String(), "")
			if s == syscall.SIGTERM {
				return 3
			}
		}
	case "ignores SIGTERM":
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("sh", "-c",
			"trap '' TERM; while :; do :; done & echo $! > "+filepath.Join(os.Getenv("TEST_DIR"), "child")+"; wait")
		child.Start()
		waitFor("child")
		say("ready", "")
		time.Sleep(time.Hour)
	case "leaves an orphan":
		// The shell ends at once. Its child becomes the agent's, ends on a write, and stays a zombie if not reaped.
		fifo := filepath.Join(os.Getenv("TEST_DIR"), "fifo")
		orphan := filepath.Join(os.Getenv("TEST_DIR"), "orphan")
		exec.Command("sh", "-c", "(read x < "+fifo+") & echo $! > "+orphan).Run()
		say("ready", "")
		time.Sleep(time.Hour)
	case "trains like Transformers":
		return trainLikeTransformers(say)
	case "rehearsed":
		return trainRehearsed()
	case "trains":
		return trainUntilAsked(status)
	}
	panic("no such trainer: " + how)
}

func waitFor(name string) {
	for {
		if data, err := os.ReadFile(filepath.Join(os.Getenv("TEST_DIR"), name)); err == nil && len(data) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// trainUntilAsked saves step 100, trains until it is asked to save and exit, saves step 200 and ends.
func trainUntilAsked(status func(checkpoint.Status)) int {
	dir := os.Getenv(checkpoint.EnvDir)
	// Half a status, as a writer leaves that does not rename.
	os.WriteFile(os.Getenv(checkpoint.EnvStatusFile), []byte(`{"step":5,"metr`), 0o600)
	save(dir, 100, "data")
	status(checkpoint.Status{Step: 101, TotalSteps: 1000, Phase: checkpoint.PhaseTraining,
		Metrics: map[string]checkpoint.Metric{"loss": "0.5"}})
	for {
		data, err := os.ReadFile(os.Getenv(checkpoint.EnvCommandFile))
		if errors.Is(err, os.ErrNotExist) {
			time.Sleep(time.Millisecond)
			continue
		}
		c, err := checkpoint.ParseCommand(data)
		if err != nil {
			return 9 // it must never be seen half written
		}
		save(dir, 200, "data")
		status(checkpoint.Status{Step: 200, TotalSteps: 1000, Phase: checkpoint.PhaseCompleted, CommandID: c.ID})
		return 0
	}
}

// save writes a checkpoint, its manifest last.
func save(dir string, step int64, content string) {
	at := filepath.Join(dir, fmt.Sprintf("step-%d", step))
	if err := os.MkdirAll(at, 0o755); err != nil {
		panic(err)
	}
	os.WriteFile(filepath.Join(at, "model.pt"), []byte(content), 0o600)
	data, err := checkpoint.Encode(checkpoint.Manifest{Version: 1, Step: step,
		Files: []checkpoint.File{{Name: "model.pt", Size: int64(len(content))}}})
	if err != nil {
		panic(err)
	}
	if err := writeFileAtomically(filepath.Join(at, checkpoint.ManifestName), data); err != nil {
		panic(err)
	}
}

// eventually polls a condition. The deadline only ends a test that has failed.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// pod is one agent with one trainer.
type pod struct {
	t    *testing.T
	dir  string
	cmd  *exec.Cmd
	out  *strings.Builder
	done chan error
}

func (p *pod) file(name string) string { return filepath.Join(p.dir, name) }

// startPod runs the agent as a process. All its files are in one directory.
func startPod(t *testing.T, flags []string, command ...string) *pod {
	t.Helper()
	p := &pod{t: t, dir: t.TempDir(), out: &strings.Builder{}, done: make(chan error, 1)}
	args := append([]string{"run", "--poll", "5ms", "--termination-log", p.file("termination")}, flags...)
	p.cmd = exec.Command(binary, append(append(args, "--"), command...)...)
	p.cmd.Env = append(os.Environ(), "TEST_DIR="+p.dir, checkpoint.EnvDir+"="+p.file("ckpt/attempt-2"),
		checkpoint.EnvURI+"=pvc://claim/bert",
		checkpoint.EnvStatusFile+"="+p.file("status.json"), checkpoint.EnvCommandFile+"="+p.file("command.json"),
		checkpoint.EnvAttempt+"=2",
		checkpoint.EnvGrace+"=1", "RANK=0")
	p.cmd.Stderr = p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

func trains(how string) []string { return []string{os.Args[0], "trainer", how} }

// end waits for the exit code and the termination message.
func (p *pod) end() (int, *checkpoint.Termination) {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		p.t.Fatalf("the agent does not end:\n%s", p.out)
	}
	data, err := os.ReadFile(p.file("termination"))
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.out)
	}
	word, err := checkpoint.ParseTermination(data)
	if err != nil {
		p.t.Fatalf("%v in %s", err, data)
	}
	return p.cmd.ProcessState.ExitCode(), word
}

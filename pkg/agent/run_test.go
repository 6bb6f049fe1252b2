package agent

import (
	"crypto/x509"
	"debug/elf"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func TestExitCodes(t *testing.T) {
	noExec := filepath.Join(t.TempDir(), "script")
	os.WriteFile(noExec, []byte("#!/bin/sh\n"), 0o600)
	for name, tc := range map[string]struct {
		command []string
		code    int
		reason  checkpoint.ExitReason
		signal  string
		log     string
	}{
		"well":           {trains("ends well"), 0, checkpoint.ExitExited, "", ""},
		"a failure":      {trains("exits 7"), 7, checkpoint.ExitExited, "", "Traceback: something is wrong"},
		"a signal":       {trains("kills itself"), 137, checkpoint.ExitSignaled, "SIGKILL", ""},
		"not there":      {[]string{"no-such-program"}, 127, checkpoint.ExitStartFailed, "", ""},
		"not executable": {[]string{noExec}, 126, checkpoint.ExitStartFailed, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPod(t, nil, tc.command...)
			code, word := p.end()
			if code != tc.code || int(word.ExitCode) != tc.code || word.Reason != tc.reason ||
				word.Signal != tc.signal ||
				!strings.Contains(word.Log, tc.log) || word.Attempt != 2 {
				t.Errorf("code %d, %+v\n%s", code, word, p.out)
			}
			if tc.log != "" && !strings.Contains(p.out.String(), tc.log) {
				t.Errorf("stderr was not passed on: %s", p.out)
			}
		})
	}
}

func TestSignalsReachTheTrainer(t *testing.T) {
	p := startPod(t, nil, trains("saves when asked by signal")...)
	eventually(t, "the trainer runs", func() bool { return exists(p.file("ready")) })
	p.cmd.Process.Signal(syscall.SIGUSR1)
	eventually(t, "USR1 arrives", func() bool { return exists(p.file(syscall.SIGUSR1.String())) })
	p.cmd.Process.Signal(syscall.SIGTERM)
	code, word := p.end()
	if code != 3 || word.Reason != checkpoint.ExitExited || !exists(p.file(syscall.SIGTERM.String())) {
		t.Errorf("code %d, %+v", code, word)
	}
}

func TestSIGTERMIsAlsoACommand(t *testing.T) {
	p := startPod(t, nil, trains("trains")...)
	eventually(t, "the trainer trains",
		func() bool { return exists(p.file("ckpt/attempt-2/step-100/" + checkpoint.ManifestName)) })
	// This trainer has no handler: SIGTERM ends it. The command is there for those that have one.
	p.cmd.Process.Signal(syscall.SIGTERM)
	code, word := p.end()
	if code != 143 || word.Signal != "SIGTERM" || word.Checkpoint == nil || word.Checkpoint.Step != 100 {
		t.Errorf("code %d, %+v\n%s", code, word, p.out)
	}
}

func TestGraceEnds(t *testing.T) {
	p := startPod(t, nil, trains("ignores SIGTERM")...)
	eventually(t, "the trainer runs", func() bool { return exists(p.file("ready")) })
	p.cmd.Process.Signal(syscall.SIGTERM)
	eventually(t, "it is asked to save", func() bool { return exists(p.file("command.json")) })
	data, _ := os.ReadFile(p.file("command.json"))
	if c, err := checkpoint.ParseCommand(data); err != nil ||
		c.Command != checkpoint.CommandCheckpointAndExit || c.Deadline == nil {
		t.Errorf("%s: %v", data, err)
	}
	code, word := p.end()
	if code != 137 || word.Reason != checkpoint.ExitGraceExceeded {
		t.Errorf("code %d, %+v", code, word)
	}
	child := strings.TrimSpace(read(t, p.file("child")))
	eventually(t, "its children are gone too", func() bool { return gone(child) })
}

func TestShellEndsBeforeItsTrainer(t *testing.T) {
	p := startPod(t, []string{"--grace", "60"},
		"sh", "-c", os.Args[0]+" trainer 'saves when asked by signal'; true")
	eventually(t, "the trainer runs", func() bool { return exists(p.file("ready")) })
	p.cmd.Process.Signal(syscall.SIGTERM)
	code, word := p.end()
	if code != 143 || word.Signal != "SIGTERM" {
		t.Errorf("code %d, %+v", code, word)
	}
	if !exists(p.file(syscall.SIGTERM.String())) {
		t.Error("the shell's trainer was killed before it saved")
	}
}

// TestTrainerEndsBeforeItsHelpers: a process that ignores SIGTERM does not turn an exit into a kill.
func TestTrainerEndsBeforeItsHelpers(t *testing.T) {
	p := startPod(t, nil, "sh", "-c", "(trap '' TERM; while :; do sleep 1; done) & trap 'exit 5' TERM; "+
		"> $TEST_DIR/ready; while :; do sleep 0.01; done")
	eventually(t, "the trainer runs", func() bool { return exists(p.file("ready")) })
	p.cmd.Process.Signal(syscall.SIGTERM)
	if code, word := p.end(); code != 5 || word.Reason != checkpoint.ExitExited {
		t.Errorf("code %d, %+v", code, word)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// gone reports whether a process has ended. It can be a zombie: after the agent no process reaps it.
func gone(pid string) bool {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || strings.Contains(string(data), ") Z ")
}

func TestZombiesAreReaped(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Fatalf("the agent's duties as PID 1 are seen in /proc: %v", err)
	}
	p := startPod(t, nil, "sh", "-c", "mkfifo $TEST_DIR/fifo && exec "+os.Args[0]+" trainer 'leaves an orphan'")
	eventually(t, "the trainer runs", func() bool { return exists(p.file("ready")) })
	orphan := strings.TrimSpace(read(t, p.file("orphan")))
	parent := strings.Fields(read(t,
		"/proc/"+orphan+"/stat")[strings.LastIndex(read(t, "/proc/"+orphan+"/stat"), ")")+1:])[1]
	if parent != strconv.Itoa(p.cmd.Process.Pid) {
		t.Fatalf("the orphan's parent is %s, not the agent", parent)
	}
	if err := os.WriteFile(p.file("fifo"), []byte("end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the orphan is reaped while the trainer runs",
		func() bool { return !exists("/proc/" + orphan) })
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.end()
}

// operator is a report server with TLS that records the reports.
type operator struct {
	*httptest.Server
	mu      sync.Mutex
	reports []checkpoint.Report
	tokens  []string
	answer  func(checkpoint.Report) checkpoint.Answer
}

func noCommand(checkpoint.Report) checkpoint.Answer {
	return checkpoint.Answer{Command: checkpoint.CommandNone}
}

func newOperator(t *testing.T, answer func(checkpoint.Report) checkpoint.Answer) *operator {
	o := &operator{answer: answer}
	o.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r, err := checkpoint.ParseReport(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		o.mu.Lock()
		o.reports, o.tokens = append(o.reports, *r), append(o.tokens, req.Header.Get("Authorization"))
		o.mu.Unlock()
		data, _ := checkpoint.Encode(o.answer(*r))
		w.Write(data)
	}))
	t.Cleanup(o.Close)
	return o
}

func (o *operator) last() checkpoint.Report {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.reports) == 0 {
		return checkpoint.Report{}
	}
	return o.reports[len(o.reports)-1]
}

func caOf(s *httptest.Server) string { return pemOf(s.Certificate()) }

func pemOf(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCheckpointAndExit: a trainer saves, the operator asks for one more checkpoint and the end, and the last
// report and the termination message have both. The agent's memory stays within its bound.
func TestCheckpointAndExit(t *testing.T) {
	op := newOperator(t, func(r checkpoint.Report) checkpoint.Answer {
		if r.Checkpoint != nil && r.Checkpoint.Step == 100 && r.Step == 101 {
			return checkpoint.Answer{Command: checkpoint.CommandCheckpointAndExit, ID: "drain-1",
				MinIntervalSeconds: 1}
		}
		return checkpoint.Answer{Command: checkpoint.CommandNone, MinIntervalSeconds: 1}
	})
	dir := t.TempDir()
	p := startPod(t, []string{
		"--kubeflow", // costs memory
		"--report-url", op.URL, "--token-file", writeFile(t, filepath.Join(dir, "token"), "secret-1\n"),
		"--ca-file", writeFile(t, filepath.Join(dir, "ca"), caOf(op.Server)),
	}, trains("trains")...)
	peak := 0
	eventually(t, "the operator hears of the end", func() bool {
		peak = max(peak, peakMemory(p.cmd.Process.Pid))
		return op.last().Phase == checkpoint.PhaseCompleted
	})
	code, word := p.end()
	if code != 0 || word.Reason != checkpoint.ExitCompleted || word.Checkpoint == nil ||
		word.Checkpoint.URI != "pvc://claim/bert/attempt-2/step-200" {
		t.Errorf("code %d, %+v\n%s", code, word, p.out)
	}
	r := op.last()
	if r.Attempt != 2 || r.Step != 200 || *r.FirstStep != 101 || r.CommandID != "drain-1" ||
		r.DeliveredID != "drain-1" || r.Layout != checkpoint.LayoutManifest ||
		r.Checkpoint == nil || r.Checkpoint.Step != 200 || r.Checkpoint.State != checkpoint.SaveCommitted ||
		r.Problem != "" {
		t.Errorf("the last report is %+v", r)
	}
	for _, token := range op.tokens {
		if token != "Bearer secret-1" {
			t.Errorf("token %q", token)
		}
	}
	if strings.Contains(p.out.String(), "secret") {
		t.Errorf("the token is in the log:\n%s", p.out)
	}
	t.Logf("the agent's peak resident memory was %d kB", peak)
	if peak > 15_000 {
		t.Errorf("the agent used %d kB, 15 MB is its bound", peak)
	}
}

// peakMemory is VmHWM in kB; 0 when the process has ended.
func peakMemory(pid int) int {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(data), "VmHWM:")
	if !ok {
		return 0
	}
	n, _ := strconv.Atoi(strings.Fields(rest)[0])
	return n
}

// TestTrainersAreNotHarmed: everything that the agent needs is broken, and the trainer does not notice.
func TestTrainersAreNotHarmed(t *testing.T) {
	p := startPod(t, []string{
		"--report-url", "https://127.0.0.1:1/none", "--token-file", "/no/such/token", "--termination-log", "",
		"--dir", "/proc/self/fdinfo/none",
		"--status-file", "/dev/zero", "--command-file", "/proc/none/command",
	}, trains("exits 7")...)
	<-p.done
	if code := p.cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("code %d\n%s", code, p.out)
	}
}

func TestOnlyRankZeroReports(t *testing.T) {
	op := newOperator(t, noCommand)
	dir := t.TempDir()
	p := startPod(t, []string{
		"--rank", "3", "--report-url", op.URL, "--token-file", writeFile(t, filepath.Join(dir, "token"), "t"),
		"--ca-file", writeFile(t, filepath.Join(dir, "ca"), caOf(op.Server)),
	}, trains("ends well")...)
	if code, _ := p.end(); code != 0 || len(op.reports) != 0 {
		t.Errorf("code %d, reports %+v", code, op.reports)
	}
}

func TestInstall(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "agent"), "an older one")
	if out, err := exec.Command(binary, "install", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(filepath.Join(dir, "agent"), "version").Output()
	if err != nil || strings.TrimSpace(string(out)) != "dev" {
		t.Errorf("%s, %v", out, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if err := exec.Command(binary, "install", filepath.Join(dir, "none")).Run(); err == nil {
		t.Error("installed into nowhere")
	}
}

func TestTheBinaryIsStatic(t *testing.T) {
	f, err := elf.Open(binary)
	if err != nil {
		t.Skipf("no ELF here: %v", err)
	}
	defer f.Close()
	for _, prog := range f.Progs {
		if prog.Type == elf.PT_INTERP {
			t.Error("it asks for a dynamic loader")
		}
	}
}

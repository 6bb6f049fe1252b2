package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	// scanTimeout bounds one look at a volume beside a trainer, searchTimeout the resolver's, which also reads
	// the bytes of a checkpoint for their sums and has 5 minutes in all.
	scanTimeout   = 2 * time.Minute
	searchTimeout = 4 * time.Minute
	// maxScanOutput bounds what a child may answer: checkpoint.Scan finds at most 10,000 checkpoints.
	maxScanOutput = 8 << 20
	// maxScanErrors bounds what is kept of its stderr.
	maxScanErrors = 1 << 10
)

// scanRequest is what a child is asked. It becomes the child's command line.
type scanRequest struct {
	// base is the directory that the child opens, dir the path below it that it scans.
	base, dir string
	jobUID    string
	// resolve: choose the newest complete checkpoint instead of listing all; sums: and compare its SHA-256.
	resolve, sums bool
	// selection of the saves that may be chosen.
	selection checkpoint.Selection
}

// scanAnswer is a child's answer, or why there is none.
type scanAnswer struct {
	Found []checkpoint.Found `json:"found,omitempty"`
	// Choice names as many passed-over checkpoints as a report does.
	Choice *checkpoint.Choice `json:"choice,omitempty"`
	Error  string             `json:"error,omitempty"`
	// NotExist: the directory is not there.
	NotExist bool `json:"notExist,omitempty"`
}

// scanner looks at volumes by a child process with a memory limit and a deadline. What lies on a volume was
// written by a program that may be wrong or hostile, and the agent is process 1 of the trainer's container:
// nothing that is read may end it. When the child dies or is late, what the volume holds is unknown, and an
// error says so.
type scanner struct {
	clock clock
	// look asks a child, whose command command makes; tests replace them.
	look    func(scanRequest, time.Duration) (*scanAnswer, error)
	command func(scanRequest) (*exec.Cmd, error)

	mu sync.Mutex
	// last is closed when the last child is gone. A volume that hangs holds on to a killed process.
	last chan struct{}
}

func newScanner(c clock) *scanner {
	s := &scanner{clock: c, command: childCommand}
	s.look = s.ask
	return s
}

func childCommand(r scanRequest) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	selection, err := json.Marshal(r.selection)
	if err != nil {
		return nil, fmt.Errorf("encoding the selection: %w", err)
	}
	cmd := exec.Command(self, scanCommand, "--base="+r.base, "--dir="+r.dir, "--job-uid="+r.jobUID,
		fmt.Sprintf("--resolve=%t", r.resolve), fmt.Sprintf("--sums=%t", r.sums),
		"--select="+string(selection))
	cmd.Env = []string{} // it needs nothing of the trainer's, whose environment holds credentials
	return cmd, nil
}

// list returns the checkpoints below a directory, as checkpoint.Scan does.
func (s *scanner) list(r scanRequest) ([]checkpoint.Found, error) {
	answer, err := s.look(r, scanTimeout)
	if err != nil {
		return nil, err
	}
	return answer.Found, nil
}

// choose returns the newest complete checkpoint, as checkpoint.Resolve does.
func (s *scanner) choose(r scanRequest) (checkpoint.Choice, error) {
	r.resolve = true
	answer, err := s.look(r, searchTimeout)
	if err != nil || answer.Choice == nil {
		return checkpoint.Choice{}, err
	}
	return *answer.Choice, nil
}

func (s *scanner) ask(r scanRequest, timeout time.Duration) (*scanAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		select {
		case <-s.last:
		default:
			return nil, errors.New("what it holds is unknown: an earlier look at it still hangs")
		}
	}
	cmd, err := s.command(r)
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stderr := &head{limit: maxScanErrors}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err = cmd.Start()
	stdout.Close()
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("starting a process to look at it: %w", err)
	}
	data, gone := make(chan []byte, 1), make(chan struct{})
	s.last = gone
	go func() {
		all, _ := io.ReadAll(io.LimitReader(out, maxScanOutput+1))
		out.Close()
		_ = cmd.Process.Kill() // it is still running if its output is too long
		// As process 1 the agent also collects its children elsewhere (trainer.reap), so that the child's exit
		// status may be lost. Only a whole answer counts.
		_ = cmd.Wait()
		close(gone) // before the answer: its receiver can start another scan at once
		data <- all
	}()
	select {
	case all := <-data:
		return parseScanAnswer(all, stderr.String())
	case <-s.clock.After(timeout):
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("its content is unknown: the scan took more than %s", timeout)
	}
}

func parseScanAnswer(data []byte, stderr string) (*scanAnswer, error) {
	var answer scanAnswer
	if len(data) > maxScanOutput {
		return nil, errors.New("its content is unknown: the scan's output is too long")
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		line, _, _ := bytes.Cut([]byte(stderr), []byte("\n"))
		if len(line) == 0 {
			line = []byte("no output")
		}
		return nil, fmt.Errorf("what it holds is unknown: the process that looked at it died (%s)",
			checkpoint.Printable(string(line), 120))
	}
	switch {
	case answer.NotExist:
		return nil, fmt.Errorf("%s: %w", answer.Error, fs.ErrNotExist)
	case answer.Error != "":
		return nil, errors.New(answer.Error)
	}
	return &answer, nil
}

// head keeps the first bytes that are written to it.
type head struct {
	limit int
	mu    sync.Mutex
	kept  []byte
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = append(h.kept, p[:min(len(p), h.limit-len(h.kept))]...)
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.kept)
}

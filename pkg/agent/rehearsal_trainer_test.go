package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// rehearsed is how a trainer of these tests behaves.
type rehearsed struct {
	// Load is read, map or nothing. Other: it loads that checkpoint instead of the resume point.
	Load, Other string
	// SaveTime of a save. InPlace: it overwrites the one before. Outside: it saves to that directory.
	SaveTime time.Duration
	InPlace  bool
	Outside  string
	// Replays: the batches begin again after each resume.
	Replays bool
	// Beats: it writes a beat file and no status file.
	Beats bool
	// Plain: the agent is not that of a rehearsal.
	Plain bool
}

const rehearsedPieces = 20

// trainRehearsed trains until it is killed, or is asked to save and exit. It saves after 20 and 40 steps, and
// when it is asked.
func trainRehearsed() int {
	writeFileAtomically(filepath.Join(os.Getenv("TEST_DIR"), "pid"), []byte(strconv.Itoa(os.Getpid())))
	var how rehearsed
	if err := json.Unmarshal([]byte(os.Getenv("TEST_REHEARSED")), &how); err != nil {
		panic(err)
	}
	resume := os.Getenv(checkpoint.EnvResume)
	first := int64(1)
	if resume != "" {
		fmt.Sscanf(filepath.Base(resume), "step-%d", &first)
		first++
	}
	if how.Other != "" {
		resume = how.Other
	}
	loadSlowly(how.Load, resume)
	carriedOut := ""
	for step := first; ; step++ {
		batch := step
		if how.Replays {
			batch = step - first + 1
		}
		writeStep(how, step, fmt.Sprintf("b%d", batch), carriedOut)
		time.Sleep(25 * time.Millisecond)
		if step < first+3 {
			time.Sleep(200 * time.Millisecond) // the agent must see the first steps, also on a busy machine
		}
		var asked checkpoint.Command
		if data, err := os.ReadFile(os.Getenv(checkpoint.EnvCommandFile)); err == nil {
			if c, err := checkpoint.ParseCommand(data); err == nil && c.ID != carriedOut {
				asked = *c
			}
		}
		if asked.ID != "" || step-first == 19 || step-first == 39 || how.Outside != "" && step%20 == 0 {
			saveSlowly(how, step)
		}
		if asked.ID != "" {
			carriedOut = asked.ID
			writeStep(how, step, fmt.Sprintf("b%d", batch), carriedOut)
		}
		if asked.Command == checkpoint.CommandCheckpointAndExit {
			return 0
		}
	}
}

func writeStep(how rehearsed, step int64, batch, carriedOut string) {
	path := os.Getenv(checkpoint.EnvStatusFile)
	data, _ := json.Marshal(checkpoint.Status{Step: step, Phase: checkpoint.PhaseTraining, Batch: batch,
		Metrics:   map[string]checkpoint.Metric{"loss": checkpoint.Metric(fmt.Sprintf("%.6f", 10/float64(step)))},
		CommandID: carriedOut})
	if how.Beats {
		path, data = os.Getenv(checkpoint.EnvBeatFile), fmt.Appendf(nil, "%d Training\n", step)
	}
	if err := writeFileAtomically(path, data); err != nil {
		panic(err)
	}
}

// loadSlowly has the model open or mapped until the agent has seen it.
func loadSlowly(how, resume string) {
	if how == "" || resume == "" {
		return
	}
	f, err := os.Open(filepath.Join(resume, "model.pt"))
	if err != nil {
		panic(err)
	}
	if how == "map" {
		if _, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ, syscall.MAP_PRIVATE); err != nil {
			panic(err)
		}
		f.Close() // and it stays mapped
	}
	waitFor("seen")
}

// saveSlowly writes a checkpoint in pieces.
func saveSlowly(how rehearsed, step int64) {
	dir := filepath.Join(os.Getenv(checkpoint.EnvDir), fmt.Sprintf("step-%d", step))
	if how.InPlace {
		dir = filepath.Join(os.Getenv(checkpoint.EnvDir), "last")
	}
	if how.Outside != "" {
		dir = how.Outside
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		panic(err)
	}
	os.Remove(filepath.Join(dir, checkpoint.ManifestName)) // of the save that this one overwrites
	f, err := os.Create(filepath.Join(dir, "model.pt"))
	if err != nil {
		panic(err)
	}
	for range rehearsedPieces { // the file closes as soon as it has its size: until then the save is incomplete
		time.Sleep(how.SaveTime / rehearsedPieces)
		f.WriteString(strings.Repeat("x", 1000))
	}
	f.Close()
	data, _ := checkpoint.Encode(checkpoint.Manifest{Version: 1, Step: step,
		Files: []checkpoint.File{{Name: "model.pt", Size: 1000 * rehearsedPieces}}})
	if err := writeFileAtomically(filepath.Join(dir, checkpoint.ManifestName), data); err != nil {
		panic(err)
	}
}

// rehearsal is a job whose attempts share a volume.
type rehearsal struct {
	t    *testing.T
	base string
}

func newRehearsal(t *testing.T) *rehearsal {
	return &rehearsal{t: t, base: filepath.Join(t.TempDir(), "ckpt")}
}

func (r *rehearsal) step(attempt, step int64) string {
	return filepath.Join(r.base, fmt.Sprintf("attempt-%d/step-%d", attempt, step))
}

// start runs an attempt of a rank. resume is empty at the first start.
func (r *rehearsal) start(attempt, rank int, resume string, op *operator, how rehearsed, env ...string) *pod {
	r.t.Helper()
	if err := os.MkdirAll(r.base, 0o755); err != nil {
		r.t.Fatal(err)
	}
	behaviour, err := json.Marshal(how)
	if err != nil {
		r.t.Fatal(err)
	}
	p := &pod{t: r.t, dir: r.t.TempDir(), out: &strings.Builder{}, done: make(chan error, 1)}
	args := []string{"run", "--poll", "50ms", "--termination-log", p.file("termination")}
	if !how.Plain {
		args = append(args, "--rehearsal")
	}
	if op != nil {
		args = append(args, "--report-url", op.URL, "--token-file", writeFile(r.t, p.file("token"), "t"),
			"--ca-file", writeFile(r.t, p.file("ca"), caOf(op.Server)))
	}
	p.cmd = exec.Command(binary, append(append(args, "--"), trains("rehearsed")...)...)
	p.cmd.Env = append(os.Environ(), "TEST_DIR="+p.dir, "TEST_REHEARSED="+string(behaviour),
		checkpoint.EnvRehearsal+"=1", checkpoint.EnvGrace+"=1", fmt.Sprintf("RANK=%d", rank),
		fmt.Sprintf("%s=%d", checkpoint.EnvAttempt, attempt), checkpoint.EnvResume+"="+resume,
		fmt.Sprintf("%s=%s/attempt-%d", checkpoint.EnvDir, r.base, attempt),
		checkpoint.EnvStatusFile+"="+p.file("status.json"), checkpoint.EnvCommandFile+"="+p.file("command.json"))
	if how.Beats {
		p.cmd.Env = append(p.cmd.Env, checkpoint.EnvBeatFile+"="+p.file("beat"))
	}
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stderr = p.out
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		p.done <- p.cmd.Wait()
		close(ended)
	}()
	r.t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-ended
		p.killTrainer()
	})
	return p
}

// killTrainer kills what a killed agent leaves, and waits for its end: it writes to the volume.
func (p *pod) killTrainer() {
	data, _ := os.ReadFile(p.file("pid"))
	pid, err := strconv.Atoi(string(data))
	if err != nil {
		return // it was not started
	}
	for {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // another process may have the number
		if !strings.Contains(string(env), "TEST_DIR="+p.dir+"\x00") {
			return
		}
		syscall.Kill(pid, syscall.SIGKILL)
		time.Sleep(time.Millisecond)
	}
}

// trace returns the trace that an agent wrote last; nil: none.
func (r *rehearsal) trace(attempt, rank int32) *checkpoint.Trace {
	v, err := openVolume(r.base)
	if err != nil {
		return nil
	}
	defer v.Close()
	return traceCache{}.readOne(v, attempt, rank)
}

// evidence of an attempt in the newest report that has it.
func (o *operator) evidence(attempt int32) checkpoint.Evidence {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := len(o.reports) - 1; i >= 0; i-- {
		for _, e := range o.reports[i].Rehearsal {
			if e.Attempt == attempt {
				return e
			}
		}
	}
	return checkpoint.Evidence{}
}

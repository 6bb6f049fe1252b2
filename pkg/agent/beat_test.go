package agent

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// TestRanksWithoutCheckpoints post beats, and rank 0 its reports too.
func TestRanksWithoutCheckpoints(t *testing.T) {
	for rank, want := range map[string][]string{"0": {"/v1/beats", "/v1/reports"}, "3": {"/v1/beats"}} {
		t.Run("rank "+rank, func(t *testing.T) {
			var mu sync.Mutex
			last := map[string]string{}
			s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				last[r.URL.Path] = string(body)
				if r.URL.Path == "/v1/beats" {
					io.WriteString(w, `{"minIntervalSeconds":30}`)
				} else {
					io.WriteString(w, `{"command":"None"}`)
				}
			}))
			defer s.Close()
			dir := t.TempDir()
			env := map[string]string{
				"RANK": rank, checkpoint.EnvAttempt: "2",
				checkpoint.EnvStatusFile: writeFile(t, filepath.Join(dir, "status.json"),
					`{"step":7,"phase":"Evaluating"}`),
				checkpoint.EnvBeatFile:  writeFile(t, filepath.Join(dir, "beat"), "7 Evaluating metrics\n"),
				checkpoint.EnvReportURL: s.URL + "/v1/reports", checkpoint.EnvCA: caOf(s),
				checkpoint.EnvTokenFile: writeFile(t, filepath.Join(dir, "token"), "token"),
			}
			o, err := parseRun([]string{"--", "train"}, func(name string) string { return env[name] }, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			r := &runner{opts: o, clock: tickingClock{newFakeClock()}, state: newState(), log: quiet()}
			finish := r.observeAndReport()
			eventually(t, "all is reported", func() bool {
				mu.Lock()
				defer mu.Unlock()
				const says = `"step":7,"phase":"Evaluating","labels":true,"where":"metrics"`
				return strings.Contains(last["/v1/beats"], says) && len(last) == len(want)
			})
			finish()
			var paths []string
			for path := range last {
				paths = append(paths, path)
			}
			slices.Sort(paths)
			if diff := cmp.Diff(want, paths); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			b, err := checkpoint.ParseBeat([]byte(last["/v1/beats"]))
			if err != nil || b.Attempt != 2 {
				t.Errorf("%s: %v", last["/v1/beats"], err)
			}
			if text := last["/v1/reports"]; text != "" {
				report, err := checkpoint.ParseReport([]byte(text))
				if err != nil || report.Phase != checkpoint.PhaseTraining || report.Step != 7 {
					t.Errorf("an operator of release 0.1 refuses %s (%v)", text, err)
				}
			}
			if data, err := os.ReadDir(dir); err != nil || len(data) != 3 {
				t.Errorf("the agent left files: %v, %v", data, err)
			}
		})
	}
}

// TestPhasesOfBeatsAreNotInTheTermination: an operator of release 0.1 would refuse it, with its checkpoint.
func TestPhasesOfBeatsAreNotInTheTermination(t *testing.T) {
	s := newState()
	for phase, want := range map[checkpoint.Phase]checkpoint.Phase{
		checkpoint.PhaseEvaluating: checkpoint.PhaseTraining, checkpoint.PhaseWaiting: checkpoint.PhaseTraining,
		checkpoint.PhaseSaving: checkpoint.PhaseSaving,
	} {
		s.status = &checkpoint.Status{Step: 7, Phase: phase}
		if got := terminationOf(s, 1, 0, false, "").Phase; got != want {
			t.Errorf("%s: %s", phase, got)
		}
		if got := s.report(1).Phase; got != want {
			t.Errorf("%s: %s", phase, got)
		}
	}
}

func newWatcherFixture(t *testing.T, logs io.Writer) (*watcher, *fakeClock, string) {
	dir, c := t.TempDir(), newFakeClock()
	o := &options{attempt: 2, beatFile: filepath.Join(dir, "beat")}
	o.statusFile = filepath.Join(dir, "status.json")
	w := newWatcher(o, newState(), c, log.New(logs, "", 0))
	w.container = fakeContainer(t, map[string]string{
		"proc/self/cgroup": "0::/\n", "cgroup/cpu.stat": "usage_usec 0\n",
		"proc/2/stat": stat(2, "python", 'T', 1, 2, 1),
	})
	return w, c, dir
}

func TestBeatHasTheFilesAndTheContainer(t *testing.T) {
	w, c, dir := newWatcherFixture(t, io.Discard)
	w.lookAtContainer()
	writeFile(t, filepath.Join(dir, "beat.0"), "5 Training loader busy=3\nleft over")
	writeFile(t, filepath.Join(dir, "beat.1"), "6 Training")
	writeFile(t, filepath.Join(dir, "beat.x"), "1")
	w.lookAtFiles()
	c.jump(c.Now().Add(10 * time.Second))
	writeFile(t, filepath.Join(w.container.cgroup, "cpu.stat"), "usage_usec 2000000\n")
	w.lookAtContainer()
	step := int64(5)
	want := checkpoint.Beat{
		Attempt: 2, Step: &step, Phase: checkpoint.PhaseTraining, Where: "loader", IdleSeconds: 10,
		FirstStepSeconds: 0.001, CPUs: 0.2, State: checkpoint.ProcessStopped, StateSeconds: 10,
	}
	if diff := cmp.Diff(want, w.beat()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestKubeflowShowsProgress where the trainer writes no files.
func TestKubeflowShowsProgress(t *testing.T) {
	w, c, _ := newWatcherFixture(t, io.Discard)
	for _, step := range []int64{7, 8} {
		c.jump(c.Now().Add(time.Minute))
		w.state.kubeflow = &kubeflowHistory{hasStep: true}
		w.state.status = &checkpoint.Status{Step: step, Phase: checkpoint.PhaseTraining}
		w.lookAtFiles()
	}
	if b := w.beat(); b.Step == nil || *b.Step != 8 || b.IdleSeconds != 0 || b.StepSeconds != 60 {
		t.Errorf("%+v", b)
	}
}

// TestHostileBeatFiles neither block nor end the agent, nor fill its log.
func TestHostileBeatFiles(t *testing.T) {
	var logged strings.Builder
	w, _, dir := newWatcherFixture(t, &logged)
	pipe := filepath.Join(dir, "beat.7")
	if err := os.Mkdir(filepath.Join(dir, "beat.1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "beat.2")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 600 {
		writeFile(t, filepath.Join(dir, "other"+strings.Repeat("x", i%200)+string(rune('a'+i%26))), "")
	}
	for i := range 40 {
		writeFile(t, w.opts.beatFile, "5 "+strings.Repeat("P", i+1))
		w.lookAtFiles()
	}
	writeFile(t, w.opts.beatFile, strings.Repeat("1", 1<<20))
	w.lookAtFiles()
	if lines := strings.Count(logged.String(), "\n"); lines > maxBeatMistakes ||
		len(logged.String()) > 300*maxBeatMistakes {
		t.Errorf("%d lines were logged:\n%s", lines, &logged)
	}
	if _, err := checkpoint.Encode(w.beat()); err != nil {
		t.Error(err)
	}
}

// TestBeatFilesOfAnEarlierContainerAreRemoved: their steps are not this trainer's.
func TestBeatFilesOfAnEarlierContainerAreRemoved(t *testing.T) {
	w, _, dir := newWatcherFixture(t, io.Discard)
	for _, name := range []string{"beat", "beat.0", "beat.17", "beat.tmp", "heartbeat"} {
		writeFile(t, filepath.Join(dir, name), "500")
	}
	(&runner{opts: w.opts, log: quiet()}).removeOldFiles()
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{"beat.tmp", "heartbeat"}, left); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

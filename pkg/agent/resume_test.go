package agent

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// serverArgs are the flags that lead to a server.
func serverArgs(t *testing.T, s *httptest.Server) []string {
	t.Helper()
	dir := t.TempDir()
	return []string{
		"--report-url", s.URL, "--token-file", writeFile(t, filepath.Join(dir, "token"), "t"),
		"--ca-file", writeFile(t, filepath.Join(dir, "ca"), caOf(s)),
	}
}

// TestEachStartAsksForItsResumePoint: what the operator answers takes the place of the environment, and what
// is reported tells this start from others.
func TestEachStartAsksForItsResumePoint(t *testing.T) {
	latest := "/checkpoints/attempt-2/step-900"
	op := newOperator(t, func(r checkpoint.Report) checkpoint.Answer {
		answer := checkpoint.Answer{Command: checkpoint.CommandNone, MinIntervalSeconds: 1}
		if r.Start == "" {
			answer.ResumeFrom = &latest
		}
		return answer
	})
	starts := map[string]bool{}
	for range 2 {
		p := startPod(t, append(serverArgs(t, op.Server), "--ask-resume"),
			"sh", "-c", "printenv RESUME_FROM_CHECKPOINT > $TEST_DIR/resume")
		if code, word := p.end(); code != 0 || word.Problem != "" {
			t.Fatalf("code %d, %+v\n%s", code, word, p.out)
		}
		if got := strings.TrimSpace(read(t, p.file("resume"))); got != latest {
			t.Errorf("it resumes from %q", got)
		}
		starts[op.last().Start] = true
	}
	if len(starts) != 2 || starts[""] {
		t.Errorf("the reports of two starts tell of %v", starts)
	}
}

// TestStartWithoutAnAnswer: an operator that is down delays a start and does not prevent it; a signal ends
// the wait.
func TestStartWithoutAnAnswer(t *testing.T) {
	var asked atomic.Bool
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Store(true)
		http.Error(w, "no leader", http.StatusServiceUnavailable)
	}))
	defer s.Close()
	p := startPod(t, append(serverArgs(t, s), "--ask-resume"), trains("ends well")...)
	eventually(t, "it asks", asked.Load)
	p.cmd.Process.Signal(syscall.SIGTERM)
	if code, word := p.end(); code != 143 || word.Reason != checkpoint.ExitSignaled || word.Signal != "SIGTERM" {
		t.Errorf("code %d, %+v\n%s", code, word, p.out)
	}
	if exists(p.file("ready")) {
		t.Error("the trainer was started")
	}

	c := newFakeClock()
	o := &options{server: server{url: s.URL, tokenFile: "t", caPEM: caOf(s)}, attempt: 1, pinned: "/as/it/was"}
	r := &runner{opts: o, clock: tickingClock{c}, state: newState(), log: quiet()}
	if ended := r.askResume(make(chan os.Signal)); ended != 0 || o.pinned != "/as/it/was" ||
		!strings.Contains(r.state.report(1).Problem, "resume point") {
		t.Errorf("ended by %v, resumes from %q, %+v", ended, o.pinned, r.state.report(1))
	}
}

func TestResumeCommand(t *testing.T) {
	latest := "/checkpoints/attempt-2/step-900"
	op := newOperator(t, func(checkpoint.Report) checkpoint.Answer {
		return checkpoint.Answer{Command: checkpoint.CommandNone, ResumeFrom: &latest}
	})
	env := func(name string) string {
		return map[string]string{checkpoint.EnvResume: "/as/it/was", checkpoint.EnvAttempt: "2"}[name]
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 0, "/as/it/was\n"},
		{serverArgs(t, op.Server), 0, latest + "\n"},
		{[]string{"--report-url", "https://127.0.0.1:1", "--token-file", "/none", "--wait", "0s"}, 1, ""},
		{[]string{"something"}, 2, ""},
	} {
		var out, errs bytes.Buffer
		code := Main(append([]string{"resume"}, tc.args...), env, &out, &errs)
		if code != tc.code || out.String() != tc.want {
			t.Errorf("%v: %d, %q, %s", tc.args, code, out.String(), errs.String())
		}
	}
}

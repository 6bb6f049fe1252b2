package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// postKubeflow sends a message as the callback does, with the variables of the environment.
func postKubeflow(body string) int {
	token, err := os.ReadFile(os.Getenv(envKubeflowToken))
	if err != nil {
		panic(err)
	}
	req, _ := http.NewRequest(http.MethodPost, os.Getenv(envKubeflowURL), strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	echo, _ := io.ReadAll(resp.Body)
	if resp.StatusCode == http.StatusOK && string(echo) != body {
		panic(fmt.Sprintf("the answer is %q", echo))
	}
	return resp.StatusCode
}

// trainLikeTransformers trains 3 of 1000 steps, and then to the end, or to SIGTERM, which ends the loop.
func trainLikeTransformers(say func(name, text string)) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	codes := []int{
		postKubeflow(kubeflowBody(0, "total_steps=1000")), postKubeflow(atStep(3, 1000, "loss=0.25")),
	}
	text, _ := json.Marshal(codes)
	say("ready", string(text))
	select {
	case <-stop:
	case <-waitedFor("stop-early"):
	}
	if code := postKubeflow(kubeflowBody(100, "loss=0.25")); code != http.StatusOK {
		return 9
	}
	waitFor("exit")
	return 0
}

func waitedFor(name string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		waitFor(name)
	}()
	return done
}

// kubeflowPod runs a trainer that only speaks the protocol, and an operator that gets the agent's reports.
func kubeflowPod(t *testing.T) (*pod, *operator) {
	op := newOperator(t, func(checkpoint.Report) checkpoint.Answer {
		return checkpoint.Answer{Command: checkpoint.CommandNone, MinIntervalSeconds: 1}
	})
	dir := t.TempDir()
	p := startPod(t, []string{
		"--kubeflow", "--grace", "60", "--report-url", op.URL,
		"--token-file", writeFile(t, filepath.Join(dir, "token"), "secret-1\n"),
		"--ca-file", writeFile(t, filepath.Join(dir, "ca"), caOf(op.Server)),
	}, trains("trains like Transformers")...)
	eventually(t, "the trainer trains", func() bool {
		data, err := os.ReadFile(p.file("ready"))
		return err == nil && len(data) > 0
	})
	if got := read(t, p.file("ready")); got != "[200,200]" {
		t.Fatalf("the agent answers %s", got)
	}
	eventually(t, "the operator has the step", func() bool { return op.last().Step == 3 })
	return p, op
}

// TestTransformersReport: without a line of code the operator has the progress, and after the end, which can
// be early, the completion. Until the program exits it may train again.
func TestTransformersReport(t *testing.T) {
	p, op := kubeflowPod(t)
	r := op.last()
	if r.Phase != checkpoint.PhaseTraining || r.TotalSteps != 1000 || r.Metrics["loss"] != "0.25" ||
		*r.FirstStep != 3 || r.Source != checkpoint.SourceKubeflow || r.Problem != "" {
		t.Errorf("the report is %+v", r)
	}
	if info, err := os.Stat(p.file(kubeflowTokenFile)); err != nil || info.Mode() != 0o600 {
		t.Errorf("the token's file: %v, %v", info, err)
	}
	writeFile(t, p.file("stop-early"), "x")
	writeFile(t, p.file("exit"), "x")
	code, word := p.end()
	if code != 0 || word.Reason != checkpoint.ExitCompleted || *word.Step != 3 {
		t.Errorf("code %d, %+v\n%s", code, word, p.out)
	}
	if r := op.last(); r.Phase != checkpoint.PhaseCompleted {
		t.Errorf("the last report is %+v", r)
	}
	if exists(p.file(kubeflowTokenFile)) {
		t.Error("the token is still there")
	}
}

// TestTransformersAfterSIGTERM: the end that it reports after SIGTERM is no completion.
func TestTransformersAfterSIGTERM(t *testing.T) {
	p, op := kubeflowPod(t)
	p.cmd.Process.Signal(syscall.SIGTERM)
	writeFile(t, p.file("exit"), "x")
	code, word := p.end()
	if code != 0 || word.Reason != checkpoint.ExitExited || word.Phase != checkpoint.PhaseTraining ||
		*word.Step != 3 {
		t.Errorf("code %d, %+v\n%s", code, word, p.out)
	}
	for _, r := range op.reports {
		if r.Phase == checkpoint.PhaseCompleted {
			t.Errorf("a report is %+v", r)
		}
	}
}

// TestKubeflowVariables: the trainer of rank 0 has them where the operator configured it, and the user's own
// win.
func TestKubeflowVariables(t *testing.T) {
	print := []string{"sh", "-c", "env > $TEST_DIR/env"}
	cases := map[string]struct {
		flags []string
		env   []string
		want  map[string]string // "+": there; "": not there
		log   string
	}{
		"rank 0": {
			[]string{"--kubeflow"}, nil,
			map[string]string{envKubeflowURL: "+", envKubeflowToken: "+", "no_proxy": ""}, "",
		},
		"by the operator": {
			nil, []string{checkpoint.EnvKubeflow + "=true"},
			map[string]string{envKubeflowURL: "+", envKubeflowToken: "+"}, "",
		},
		"another rank": {
			[]string{"--kubeflow", "--rank=1"}, nil, map[string]string{envKubeflowURL: "", envKubeflowToken: ""}, "",
		},
		"turned off": {nil, nil, map[string]string{envKubeflowURL: "", envKubeflowToken: ""}, ""},
		"the user's server": {
			[]string{"--kubeflow"}, []string{envKubeflowURL + "=https://mine"},
			map[string]string{envKubeflowURL: "https://mine", envKubeflowToken: ""},
			"reports its progress to that server, not to the operator",
		},
		"a proxy": {
			[]string{"--kubeflow"}, []string{"http_proxy=http://proxy"},
			map[string]string{"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}, "",
		},
		"a proxy with exceptions": {
			[]string{"--kubeflow"}, []string{"HTTPS_PROXY=http://proxy", "NO_PROXY=.cluster.local,10.0.0.0/8"},
			map[string]string{"no_proxy": "", "NO_PROXY": ".cluster.local,10.0.0.0/8,127.0.0.1"}, "",
		},
		"a proxy with both": {
			[]string{"--kubeflow"}, []string{"http_proxy=http://proxy", "NO_PROXY=a", "no_proxy="},
			map[string]string{"no_proxy": "127.0.0.1", "NO_PROXY": "a,127.0.0.1"}, "",
		},
		"no proxy for any host": {
			[]string{"--kubeflow"}, []string{"http_proxy=http://proxy", "no_proxy=*"},
			map[string]string{"no_proxy": "*", "NO_PROXY": ""}, "",
		},
	}
	for _, e := range os.Environ() { // of the machine that runs the test
		if name, _, _ := strings.Cut(e, "="); strings.HasSuffix(strings.ToLower(name), "_proxy") {
			t.Setenv(name, "") // restores it
			os.Unsetenv(name)
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, e := range c.env {
				k, v, _ := strings.Cut(e, "=")
				t.Setenv(k, v)
			}
			p := startPod(t, c.flags, print...)
			p.end()
			lines := strings.Split(read(t, p.file("env")), "\n")
			for k, want := range c.want {
				i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, k+"=") })
				switch {
				case want == "" && i >= 0, want != "" && i < 0:
					t.Errorf("%s: want %q, got line %d", k, want, i)
				case want != "" && want != "+" && lines[i] != k+"="+want:
					t.Errorf("got %s, want %s", lines[i], want)
				}
			}
			if !strings.Contains(p.out.String(), c.log) {
				t.Errorf("the log is %s", p.out)
			}
		})
	}
}

// TestKubeflowRequests: what a client is answered.
func TestKubeflowRequests(t *testing.T) {
	clock := newFakeClock()
	s := &kubeflowServer{state: newState(), clock: clock, token: "right"}
	post := func(method, path, token, body string) *httptest.ResponseRecorder {
		clock.jump(clock.Now().Add(time.Second))
		req, w := httptest.NewRequest(method, path, strings.NewReader(body)), httptest.NewRecorder()
		req.Header.Set("Authorization", token)
		s.ServeHTTP(w, req)
		return w
	}
	good, right := atStep(10, 1000), "Bearer right"
	padded := func(n int) string { return good + strings.Repeat(" ", n-len(good)) }
	for name, c := range map[string]struct {
		method, path, token, body string
		want                      int
	}{
		"good":           {"POST", "/status", right, good, 200},
		"as large":       {"POST", "/status", right, padded(64 << 10), 200},
		"too large":      {"POST", "/status", right, padded(64<<10 + 1), 413},
		"empty":          {"POST", "/status", right, "", 422},
		"not readable":   {"POST", "/status", right, "{", 422},
		"no token":       {"POST", "/status", "", good, 403},
		"half a token":   {"POST", "/status", "Bearer righ", good, 403},
		"another scheme": {"POST", "/status", "Basic right", good, 403},
		"another path":   {"POST", "/status/", right, good, 404},
		"another method": {"GET", "/status", right, good, 404},
	} {
		s.state = newState()
		w := post(c.method, c.path, c.token, c.body)
		if w.Code != c.want || (s.state.status != nil) != (c.want == 200) {
			t.Errorf("%s: code %d, %s", name, w.Code, w.Body)
		}
		if c.want == 200 && w.Body.String() != c.body {
			t.Errorf("%s: the answer is %q", name, w.Body)
		}
		if strings.Contains(w.Body.String(), "right") {
			t.Errorf("%s: the token is in the answer", name)
		}
	}
}

func TestKubeflowRate(t *testing.T) {
	clock := newFakeClock()
	s := &kubeflowServer{state: newState(), clock: clock, token: "right"}
	var codes []int
	for i := range 12 {
		if i == 11 {
			clock.jump(clock.Now().Add(time.Second))
		}
		req := httptest.NewRequest("POST", "/status", strings.NewReader(atStep(i+1, 1000)))
		w := httptest.NewRecorder()
		req.Header.Set("Authorization", "Bearer right")
		s.ServeHTTP(w, req)
		codes = append(codes, w.Code)
	}
	if want := slices.Concat(slices.Repeat([]int{200}, 10), []int{429, 200}); !slices.Equal(codes, want) {
		t.Errorf("the codes are %v", codes)
	}
}

// TestKubeflowConnections: of five idle connections one is closed at once, and a later one is served.
func TestKubeflowConnections(t *testing.T) {
	s := &kubeflowServer{state: newState(), clock: newFakeClock(), token: "right"}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := s.server()
	server.ReadTimeout, server.IdleTimeout = time.Minute, time.Minute // none ends by itself
	go server.Serve(listener)
	defer server.Close()
	var all []net.Conn
	closed := make(chan int, 10)
	dial := func() {
		c, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		i := len(all)
		all = append(all, c)
		go func() {
			c.Read(make([]byte, 1))
			closed <- i
		}()
	}
	for range maxKubeflowConns + 1 {
		dial()
	}
	first := <-closed
	all[(first+1)%len(all)].Close() // makes a place
	<-closed
	eventually(t, "the place is free", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.conns == maxKubeflowConns-1
	})
	req, _ := http.NewRequest("POST", "http://"+listener.Addr().String()+"/status",
		bytes.NewReader([]byte(atStep(10, 1000))))
	req.Header.Set("Authorization", "Bearer right")
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("%v, %v", resp, err)
	}
}

// TestStatusFileWins: the file says more, such as a commit, and a trainer that writes it is asked to.
func TestStatusFileWins(t *testing.T) {
	s := newObserverFixture(t, nil)
	m, err := parseKubeflow([]byte(atStep(10, 1000)))
	if err != nil {
		t.Fatal(err)
	}
	s.state.takeKubeflow(m, s.c.Now())
	if r := s.report(); r.Step != 10 || r.Source != checkpoint.SourceKubeflow {
		t.Fatalf("before the file: %+v", r)
	}
	s.status(`{"step":`)
	s.observe()
	if r := s.report(); r.Step != 10 || r.Source != checkpoint.SourceKubeflow {
		t.Errorf("with a file that cannot be read: %+v", r)
	}
	s.status(`{"step": 11}`)
	s.observe()
	s.state.takeKubeflow(m, s.c.Now())
	if r := s.report(); r.Step != 11 || r.Source != "" || *r.FirstStep != 10 {
		t.Errorf("with a file: %+v", r)
	}
}

// TestNoStepIsReportedBeforeTheFirst: the operator must not take a start for step 0.
func TestNoStepIsReportedBeforeTheFirst(t *testing.T) {
	s := newState()
	m, err := parseKubeflow([]byte(kubeflowBody(0, "total_steps=1000")))
	if err != nil {
		t.Fatal(err)
	}
	s.takeKubeflow(m, time.Now())
	if r := s.report(1); r.FirstStep != nil || r.Phase != checkpoint.PhaseStarting {
		t.Errorf("the report is %+v", r)
	}
	if word := terminationOf(s, 1, 0, false, ""); word.Step != nil {
		t.Errorf("the termination message is %+v", word)
	}
}

// TestCheckpointAndExitStops: like SIGTERM, the command makes 100% no completion.
func TestCheckpointAndExitStops(t *testing.T) {
	for command, want := range map[checkpoint.CommandName]bool{
		checkpoint.CommandCheckpoint: false, checkpoint.CommandCheckpointAndExit: true,
	} {
		s := newState()
		o := &options{commandFile: filepath.Join(t.TempDir(), "command.json")}
		err := deliver(o, s, log.New(io.Discard, "", 0), func(syscall.Signal) {}, checkpoint.Command{
			Command: command, ID: "a",
		})
		if err != nil || s.stopping != want {
			t.Errorf("%s: stopping %t, %v", command, s.stopping, err)
		}
	}
}

// TestCompletionIsReportedAtTheEnd: a program may train again after its first training.
func TestCompletionIsReportedAtTheEnd(t *testing.T) {
	s := newState()
	for _, body := range []string{atStep(10, 1000), kubeflowBody(100)} {
		m, err := parseKubeflow([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		s.takeKubeflow(m, time.Now())
	}
	if r := s.report(1); r.Phase != checkpoint.PhaseTraining {
		t.Errorf("while the program runs the report is %+v", r)
	}
	s.setEnded()
	if r := s.report(1); r.Phase != checkpoint.PhaseCompleted {
		t.Errorf("the last report is %+v", r)
	}
}

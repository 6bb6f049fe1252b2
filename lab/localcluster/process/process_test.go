package process

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

func TestParseStat(t *testing.T) {
	fields := func(name, state string, threads int, start string) string {
		const format = "42 (%s) %s 1 42 42 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 %d 0 %s 1000 10"
		return fmt.Sprintf(format, name, state, threads, start)
	}
	cases := map[string]struct {
		content string
		want    procStat
		ended   bool
		wantErr bool
	}{
		"plain":                  {content: fields("etcd", "S", 9, "777"), want: procStat{'S', 9, 777}},
		"a name like the fields": {content: fields("a) Z 1 (b", "R", 1, "5"), want: procStat{'R', 1, 5}},
		"zombie": {
			content: fields("etcd", "Z", 1, "777"), want: procStat{'Z', 1, 777}, ended: true,
		},
		"zombie with threads that end":   {content: fields("etcd", "Z", 2, "777"), want: procStat{'Z', 2, 777}},
		"too short":                      {content: "42 (etcd) S 1", wantErr: true},
		"no name":                        {content: "", wantErr: true},
		"a start time that is no number": {content: fields("etcd", "S", 1, "x"), wantErr: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat([]byte(c.content))
			if (err != nil) != c.wantErr || got != c.want || got.ended() != c.ended {
				t.Errorf("got %+v (ended %v), %v; want %+v (ended %v)", got, got.ended(), err, c.want, c.ended)
			}
		})
	}
}

// shell is a process of the cluster that runs a shell script.
func shell(t *testing.T, script string) Process {
	t.Helper()
	log := filepath.Join(t.TempDir(), "shell.log")
	return Process{Name: "shell", Path: "/bin/sh", Args: []string{"-c", script}, Log: log}
}

// start starts it, and ends it with the test.
func start(t *testing.T, p Process) Process {
	t.Helper()
	if err := NewLauncher(false).Start(&p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.signal(syscall.SIGKILL) })
	return p
}

func TestEnvIsAdded(t *testing.T) {
	t.Setenv("INHERITED", "1")
	p := shell(t, `echo "$INHERITED $ADDED"; exec sleep 60`)
	p.Env = []string{"ADDED=2"}
	p = start(t, p)
	const interval, bound = 10 * time.Millisecond, 30 * time.Second
	var log []byte
	err := wait.PollUntilContextTimeout(t.Context(), interval, bound, true, func(context.Context) (bool, error) {
		var err error
		log, err = os.ReadFile(p.Log)
		return string(log) == "1 2\n", err
	})
	if err != nil {
		t.Errorf("it sees %q: %v", log, err)
	}
}

func TestStopEndsAProcess(t *testing.T) {
	p := start(t, shell(t, "exec sleep 60"))
	if !p.Alive() {
		t.Fatal("it does not run")
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.Alive() {
		t.Error("it still runs")
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Errorf("stopping it again: %v", err)
	}
}

func TestStopKillsWhatDoesNotListen(t *testing.T) {
	p := start(t, shell(t, "trap '' TERM; echo deaf; while :; do sleep 1; done"))
	waitUntil(t, "it is deaf", func() bool { return strings.Contains(logTail(p.Log), "deaf") })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if p.Alive() {
		t.Error("it still runs")
	}
}

// The pid of a process that has ended may be a stranger's by now.
func TestAStrangerIsNeverSignalled(t *testing.T) {
	p := start(t, shell(t, "exec sleep 60"))
	stranger := p
	stranger.StartTime--
	if stranger.Alive() {
		t.Error("the stranger is taken for ours")
	}
	if err := stranger.signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if err := stranger.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if !p.Alive() {
		t.Error("the stranger was ended")
	}
}

func TestEarlyEndIsReportedWithLog(t *testing.T) {
	p := shell(t, "echo no such flag; exit 1")
	p.Health = "http://127.0.0.1:1/healthz"
	p = start(t, p)
	err := Prober{client: nil}.Wait(t.Context(), endedOf(t, p))
	for _, part := range []string{"shell has died", "no such flag"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want %q in it", err, part)
		}
	}
}

// endedOf waits until the process has ended.
func endedOf(t *testing.T, p Process) Process {
	t.Helper()
	waitUntil(t, "it has ended", func() bool { return !p.Alive() })
	return p
}

func TestATakenPortIsRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := shell(t, "exec sleep 60")
	p.Ports = []int{listener.Addr().(*net.TCPAddr).Port}
	if err := NewLauncher(false).Start(&p); err == nil || !strings.Contains(err.Error(), "is taken") {
		t.Errorf("got %v", err)
	}
	if p.PID != 0 {
		t.Error("it was started anyway")
	}
}

func TestLogTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var lines []string
	for i := range 5000 {
		lines = append(lines, "line "+strconv.Itoa(i))
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := logTail(path), strings.Join(lines[len(lines)-tailLines:], "\n"); got != want {
		t.Errorf("got %q", got)
	}
	if got := logTail(path + "-missing"); !strings.Contains(got, "no such file") {
		t.Errorf("of a file that is not there: %q", got)
	}
}

// helperVariable makes this test binary the helper of the next test.
const helperVariable = "LOCALCLUSTER_TEST_HELPER"

func TestMain(m *testing.M) {
	if log := os.Getenv(helperVariable); log != "" {
		p := Process{Name: "child", Path: "/bin/sh", Args: []string{"-c", "exec sleep 60"}, Log: log}
		if err := NewLauncher(true).Start(&p); err != nil {
			panic(err)
		}
		fmt.Println(p.PID, p.StartTime)
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// An attached cluster must not outlive a test that panics or is killed.
func TestAttachedProcessesDieWithTheirParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), helperVariable+"="+filepath.Join(t.TempDir(), "log"))
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child := Process{Name: "child"}
	if _, err := fmt.Sscan(line, &child.PID, &child.StartTime); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.signal(syscall.SIGKILL) })
	if !child.Alive() {
		t.Fatal("the child does not run")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	waitUntil(t, "the child has ended", func() bool { return !child.Alive() })
}

func waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

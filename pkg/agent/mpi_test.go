package agent

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// mpiKey makes the directories of a job's key and of ssh, and returns the arguments that name them.
func mpiKey(t *testing.T, public string) (args []string, dir string) {
	t.Helper()
	key, dir := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{secretKeyFile: "private\n", secretPublicFile: public + "\n"} {
		if err := os.WriteFile(filepath.Join(key, name), []byte(content), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"--key=" + key, "--dir=" + dir, "--public-key=ssh-ed25519 AAAA"}, dir
}

// TestSetEnv: what sshd reads back is what the container had (argv_split in misc.c of OpenSSH unquotes it).
func TestSetEnv(t *testing.T) {
	got := setEnv([]string{
		`PATH=/opt/mpi/bin:/usr/bin`, `QUOTES=a "b" 'c'`, `BACK=\n\`, `HASH=# no comment`, `EMPTY=`,
		"LINES=a\nb", "HOME=/root", "HOSTNAME=bert-worker-0", "=C:", "broken",
	})
	want := ` "BACK=\\n\\" "EMPTY=" "HASH=# no comment" "PATH=/opt/mpi/bin:/usr/bin" "QUOTES=a \"b\" 'c'"`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestWorkerHosts: the names of all workers follow from the first.
func TestWorkerHosts(t *testing.T) {
	got, err := workerHosts("bert-0-worker-0.bert-0", 3)
	want := []string{"bert-0-worker-0.bert-0", "bert-0-worker-1.bert-0", "bert-0-worker-2.bert-0"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, c := range []struct {
		first string
		n     int
	}{
		{"bert-worker-0.bert", 0}, {"", 2}, {"bert-worker-1.bert", 2}, {"-0.bert", 1},
		{"bert-worker-0.bert", 10001},
	} {
		if _, err := workerHosts(c.first, c.n); err == nil {
			t.Errorf("%d workers from %q are accepted", c.n, c.first)
		}
	}
}

// TestPrepareSSH: keys are readable by this user alone, and files of an earlier container are replaced.
func TestPrepareSSH(t *testing.T) {
	args, dir := mpiKey(t, "ssh-ed25519 AAAA")
	if err := os.WriteFile(filepath.Join(dir, "id_rsa"), []byte("old"), 0o444); err != nil {
		t.Fatal(err)
	}
	o, err := parseMPI(mpiWorkerCommand, append(args, "--port=2345", "--", "sshd"), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := prepareSSH(o, []string{"MODEL=bert"}); err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string]string{
		"id_rsa": "private", "id_rsa.pub": "ssh-ed25519 AAAA", "authorized_keys": "ssh-ed25519 AAAA",
		"known_hosts": "trainingjob ssh-ed25519 AAAA", "config": "Port 2345", "sshd_config": `SetEnv "MODEL=bert"`,
	} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if text, _ := os.ReadFile(path); !strings.Contains(string(text), part) {
			t.Errorf("%s lacks %q:\n%s", name, part, text)
		}
	}
}

// TestReplacedKey: a Secret with another key than the job's status is not used.
func TestReplacedKey(t *testing.T) {
	args, dir := mpiKey(t, "ssh-ed25519 BBBB")
	var stderr bytes.Buffer
	code := mpiCommand(mpiWorkerCommand, append(args, "--", "/bin/true"), &stderr)
	if code != 1 || !strings.Contains(stderr.String(), "the Secret was replaced") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("it has written %v", files)
	}
}

func TestParseMPI(t *testing.T) {
	for name, args := range map[string][]string{
		"no key": {"--dir=d", "--public-key=k", "--", "x"}, "no command": {"--key=k", "--dir=d", "--public-key=k"},
		"no port":     {"--key=k", "--dir=d", "--public-key=k", "--port=0", "--", "x"},
		"no worker":   {"--key=k", "--dir=d", "--public-key=k", "--workers=3", "--", "x"},
		"wrong flag":  {"--keys=k", "--", "x"},
		"wrong first": {"--key=k", "--dir=d", "--public-key=k", "--workers=3", "--first-worker=x", "--", "x"},
	} {
		if _, err := parseMPI(mpiLauncherCommand, args, &bytes.Buffer{}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// workerAnswering listens as a worker that answers with a text, and returns its port.
func workerAnswering(t *testing.T, text string) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(text))
			conn.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// TestAskForBanner: only an SSH server counts as an answer.
func TestAskForBanner(t *testing.T) {
	for text, ok := range map[string]bool{
		"SSH-2.0-OpenSSH_9.2p1\r\n": true, "welcome\r\nSSH-2.0-x\r\n": true,
		"HTTP/1.1 400 Bad Request\r\n\r\n": false, "": false, strings.Repeat("x", 9000): false,
	} {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(workerAnswering(t, text)))
		if err := askForBanner(t.Context(), address); (err == nil) != ok {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// TestLauncherNamesWhoIsMissing: a worker that never answers ends the wait, with its name.
func TestLauncherNamesWhoIsMissing(t *testing.T) {
	port := workerAnswering(t, "no ssh\r\n")
	err := awaitWorkers([]string{"127.0.0.1"}, port, time.Millisecond, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "worker 127.0.0.1 did not answer within 1ms") {
		t.Error(err)
	}
}

// TestLauncherRunsItsCommand: with its exit code, once the workers answer.
func TestLauncherRunsItsCommand(t *testing.T) {
	args, _ := mpiKey(t, "ssh-ed25519 AAAA")
	args = append([]string{mpiLauncherCommand}, append(args, "--", "/bin/sh", "-c", "exit 7")...)
	cmd := exec.Command(binary, args...)
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("exit code %d: %s", cmd.ProcessState.ExitCode(), out)
	}
}

// TestProcessesAreSignaled: on SIGTERM the agent signals only the processes of MPI, also those whose parents
// have ended, and waits until they have saved. Then it signals a server; mpirun ends by itself.
func TestProcessesAreSignaled(t *testing.T) {
	// A rank saves for a while. It waits for its child, which has the same environment and gets no signal.
	const rank = `trap "sleep 0.3; : > saved; wait; exit 0" TERM
sh -c 'trap ": > child-signaled" TERM; while [ ! -e saved ]; do sleep 0.05; done' &
: > ready; while :; do sleep 0.05; done`
	for name, c := range map[string]struct {
		role, command string
		code          int
	}{
		mpiWorkerCommand: {mpiWorkerCommand, `(OMPI_COMM_WORLD_RANK=0 sh -c "$2" &); exec sleep 1000`,
			128 + int(syscall.SIGTERM)},
		mpiLauncherCommand: {mpiLauncherCommand, `trap ": > signaled" TERM; PMI_RANK=0 sh -c "$2" & wait; exit 3`,
			3},
	} {
		t.Run(name, func(t *testing.T) {
			args, dir := mpiKey(t, "ssh-ed25519 AAAA")
			args = append(args, "--", "/bin/sh", "-c", `cd "$1"; `+c.command, "sh", dir, rank)
			cmd := exec.Command(binary, append([]string{c.role}, args...)...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			exists := func(name string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
			eventually(t, "the rank is ready", func() bool { return exists("ready") })
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d, want the command's, %d", code, c.code)
			}
			if !exists("saved") {
				t.Error("the agent ended before the rank had saved")
			}
			if exists("signaled") || exists("child-signaled") {
				t.Error("not only the rank got a signal")
			}
		})
	}
}

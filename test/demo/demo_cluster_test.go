//go:build cluster

package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	lab "mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const root = "../.."

var program string // localcluster

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "demo-")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"server", "operator", "localcluster"} { // the last one runs the others
		if program, err = harness.BuildProgram(context.Background(), dir, name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// played is a demo that is being played.
type played struct {
	dir       string
	interrupt func()
	links     chan string
	ended     chan struct{}
	err       error // once ended

	mu      sync.Mutex
	printed strings.Builder
}

// linkPattern matches the link that the demo prints.
var linkPattern = regexp.MustCompile(`^ +(http://127\.0\.0\.1:\d+/login\?once=\S+)$`)

// play starts the demo on a scheduler. The test's cleanup stops its cluster.
func play(t *testing.T, scheduler string, more ...string) *played {
	t.Helper()
	d := &played{
		dir:   filepath.Join(t.TempDir(), "cluster"),
		links: make(chan string, 1), ended: make(chan struct{}),
	}
	args := append([]string{"demo", "--scheduler", scheduler, "--dir", d.dir}, more...)
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stderr = root, d
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.interrupt = func() { _ = cmd.Process.Signal(syscall.SIGINT) } // does nothing where it has ended
	go func() {
		defer close(d.ended)
		for lines := bufio.NewScanner(io.TeeReader(out, d)); lines.Scan(); {
			if link := linkPattern.FindStringSubmatch(lines.Text()); link != nil {
				d.links <- link[1]
			}
		}
		d.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		d.interrupt() // where the test ends before the demo
		<-d.ended
		if out, err := d.run("down", "--dir", d.dir); err != nil {
			t.Errorf("ending the cluster: %v\n%s", err, out)
		}
		if t.Failed() {
			t.Logf("the demo printed:\n%s", d.output())
		}
	})
	return d
}

func (d *played) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.printed.Write(b)
}

func (d *played) output() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.printed.String()
}

// run runs another command of localcluster.
func (d *played) run(args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// link returns the link that the demo prints before its story begins.
func (d *played) link() (string, error) {
	select {
	case link := <-d.links:
		return link, nil
	case <-d.ended:
		return "", errors.Join(errors.New("the demo has ended and printed no link"), d.err)
	}
}

// TestInterrupted checks that an interrupted demo with --down leaves nothing behind.
func TestInterrupted(t *testing.T) {
	d := play(t, lab.SchedulerVolcano, "--down")
	if _, err := d.link(); err != nil {
		t.Fatal(err)
	}
	if out, err := d.run("status", "--dir", d.dir); err != nil ||
		!strings.Contains(out, "The operator runs") || !strings.Contains(out, "The server runs") {
		t.Errorf("status while the demo runs: %v:\n%s", err, out)
	}
	if out, err := d.run("board", "--dir", d.dir); err == nil || !strings.Contains(out, "a demo runs") {
		t.Errorf("a link while the demo runs: %v\n%s", err, out)
	}
	d.interrupt()
	<-d.ended
	if d.err == nil {
		t.Error("an interrupted demo reports that its story held")
	}
	if out, err := d.run("status", "--dir", d.dir); err == nil || !strings.Contains(out, "There is no cluster") {
		t.Errorf("status afterwards: %v:\n%s", err, out)
	}
	if out, err := d.run("board", "--dir", d.dir); err == nil || !strings.Contains(out, "play a demo") {
		t.Errorf("a link without a cluster: %v\n%s", err, out)
	}
}

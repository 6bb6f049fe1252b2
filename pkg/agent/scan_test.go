package agent

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// scannerOf is a scanner whose child is a shell.
func scannerOf(c clock, script string) *scanner {
	s := newScanner(c)
	s.command = func(scanRequest) (*exec.Cmd, error) { return exec.Command("sh", "-c", script), nil }
	return s
}

// TestChildThatFails: however the child fails, the agent returns an error and no answer.
func TestChildThatFails(t *testing.T) {
	for script, want := range map[string]string{
		`echo '{"found":[{'; echo "fatal error: out of memory" >&2`: "died (fatal error: out of memory)",
		`exit 3`:                             "died (no output)",
		`kill -9 $$`:                         "died",
		`yes '{"found":['`:                   "output is too long",
		`yes trouble | head -c 10000000 >&2`: "died (trouble)",
		`echo '{"error":"no permission"}'`:   "no permission",
	} {
		found, err := scannerOf(wallClock{}, script).list(scanRequest{})
		if err == nil || !strings.Contains(err.Error(), want) || found != nil || len(err.Error()) > 400 {
			t.Errorf("%s: want %q, got %v, %v", script, want, found, err)
		}
	}
}

// TestChildThatIsLate is killed, and no other is started while it hangs.
func TestChildThatIsLate(t *testing.T) {
	c := newFakeClock()
	s := scannerOf(c, "exec sleep 1000")
	result := make(chan error)
	go func() { _, err := s.list(scanRequest{}); result <- err }()
	eventually(t, "the deadline is set", func() bool { return c.expire() })
	if err := <-result; err == nil || !strings.Contains(err.Error(), "took more than 2m0s") {
		t.Errorf("got %v", err)
	}
	select {
	case <-s.last: // it was killed
	case <-time.After(time.Minute):
		t.Fatal("the child is still there")
	}
	s.last = make(chan struct{}) // one that no signal ends
	if _, err := s.list(scanRequest{}); err == nil || !strings.Contains(err.Error(), "still hangs") {
		t.Errorf("got %v", err)
	}
}

// expire ends the last wait that was begun.
func (c *fakeClock) expire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.fire) == 0 {
		return false
	}
	c.fire[len(c.fire)-1] <- c.now
	return true
}

// hog is a child that takes memory without an end, in pieces of a size. It says how much it got.
func hog(piece int) int {
	if err := limitMemory(scanAddressSpace); err != nil {
		panic(err)
	}
	var held [][]byte
	for {
		b := make([]byte, piece)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		held = append(held, b)
		fmt.Println(len(held) * piece >> 20)
	}
}

// TestMemoryOfTheChildIsLimited: it dies at its limit.
func TestMemoryOfTheChildIsLimited(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux limits it")
	}
	for _, piece := range []string{"65536", "1048576"} {
		out, err := exec.Command(os.Args[0], "hog", piece).Output()
		lines := strings.Fields(string(out))
		var got int
		fmt.Sscan(lines[len(lines)-1], &got)
		if err == nil || got < 64 || got > 200 {
			t.Errorf("with pieces of %s bytes it got %d MiB, and ended with %v", piece, got, err)
		}
	}
}

// largeVolume is one directory with as many files as a scan reads at most, made up as they are read.
type largeVolume struct{ next int }

type madeUp struct {
	fs.FileInfo
	name string
	dir  bool
}

func (m madeUp) Name() string { return m.name }
func (m madeUp) IsDir() bool  { return m.dir }
func (m madeUp) Size() int64  { return 1 }
func (m madeUp) Mode() fs.FileMode {
	if m.dir {
		return fs.ModeDir
	}
	return 0
}
func (m madeUp) Type() fs.FileMode          { return m.Mode() }
func (m madeUp) ModTime() time.Time         { return time.Unix(1, 0) }
func (m madeUp) Info() (fs.FileInfo, error) { return m, nil }

func (v *largeVolume) Open(string) (fs.File, error) { return v, nil }
func (v *largeVolume) Stat() (fs.FileInfo, error)   { return madeUp{dir: true}, nil }
func (v *largeVolume) Read([]byte) (int, error)     { return 0, io.EOF }
func (v *largeVolume) Close() error                 { return nil }

func (v *largeVolume) ReadDir(n int) (out []fs.DirEntry, err error) {
	for range n {
		if v.next == 200_000 {
			return out, io.EOF
		}
		out = append(out, madeUp{name: fmt.Sprintf("optimizer-state-shard-%07d.bin", v.next)})
		v.next++
	}
	return out, nil
}

// scanLargeVolume is a child that scans it.
func scanLargeVolume() int {
	debug.SetMemoryLimit(scanMemory)
	if err := limitMemory(scanAddressSpace); err != nil {
		panic(err)
	}
	if _, err := checkpoint.Scan(&largeVolume{}, ".", checkpoint.Options{}); err != nil {
		panic(err)
	}
	return 0
}

// TestLargeVolume: the largest number of files that is read at all fits the child's memory.
// In a test binary with C's library it may not, see the Makefile.
func TestLargeVolume(t *testing.T) {
	if out, err := exec.Command(os.Args[0], "large", "volume").CombinedOutput(); err != nil {
		t.Errorf("%v: %.300s", err, out)
	}
}

// TestPipesAreNotOpened: a pipe in the place of a file, or of the whole directory, does not block the scan.
func TestPipesAreNotOpened(t *testing.T) {
	dir := t.TempDir()
	save(dir, 100, "x")
	os.MkdirAll(filepath.Join(dir, "iter_0000200", "mp_rank_00"), 0o755)
	writeFile(t, filepath.Join(dir, "latest_checkpointed_iteration.txt"), "200")
	for _, name := range []string{
		"iter_0000200/mp_rank_00/model_optim_rng.pt", "pipe.ckpt", "checkpoint", ".metadata",
	} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := newScanner(wallClock{}).list(scanRequest{base: dir, dir: "."})
	if err != nil || len(found) != 2 || found[1].State != checkpoint.Complete {
		t.Errorf("found %+v, %v", found, err)
	}
	v, err := openVolume(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if _, err := v.Open("pipe.ckpt"); err == nil {
		t.Error("a pipe was opened")
	}
	if _, err := newScanner(wallClock{}).list(scanRequest{base: filepath.Join(dir, "pipe.ckpt"),
		dir: "."}); err == nil {
		t.Error("a pipe was opened as a directory")
	}
}

// TestNamesThatAreNotText hide nothing but themselves.
func TestNamesThatAreNotText(t *testing.T) {
	s := newObserverFixture(t, nil)
	save(s.opts.dir, 100, "x")
	save(filepath.Join(s.opts.dir, "caf\xe9"), 200, "x")
	s.observe()
	if r := s.report(); r.Checkpoint == nil || r.Checkpoint.Step != 100 || r.Problem != "" {
		t.Errorf("%+v", r)
	}
}

// TestDyingChildSparesTheTrainer: the agent's child cannot look at the volume, and the trainer never notices.
func TestDyingChildSparesTheTrainer(t *testing.T) {
	s := newObserverFixture(t, nil)
	save(s.opts.dir, 100, "x")
	s.scanner.command = scannerOf(s.c, "exit 2").command
	s.observe()
	if r := s.report(); r.Checkpoint != nil || !strings.Contains(r.Problem, "unknown") {
		t.Errorf("%+v", r)
	}
	s.scanner.command = childCommand
	s.observe() // it tries again
	if r := s.report(); r.Checkpoint == nil || r.Checkpoint.Step != 100 || r.Problem != "" {
		t.Errorf("%+v", r)
	}
}

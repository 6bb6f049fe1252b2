package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// fakeContainer is a container whose files are in a directory of the test.
func fakeContainer(t *testing.T, files map[string]string) container {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, content)
	}
	return container{proc: filepath.Join(dir, "proc"), cgroup: filepath.Join(dir, "cgroup"), agent: 1, group: 1}
}

const netDev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo: 9000 1 0 0 0 0 0 0 9000 1 0 0 0 0 0 0
  eth0:%d 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0
  eth1: 1 1 0 0 0 0 0 0 x 1 0 0 0 0 0 0
`

func TestUsage(t *testing.T) {
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	later := start.Add(10 * time.Second)
	v2 := func(group, at string, micros, read, received int) map[string]string {
		return map[string]string{
			"proc/self/cgroup": group,
			"cgroup" + at:      "",
			filepath.Join("cgroup", filepath.Dir(at), "cpu.stat"): fmt.Sprintf(
				"usage_usec %d\nuser_usec 7\nnr_periods 0\n", micros),
			filepath.Join("cgroup", filepath.Dir(at), "io.stat"): fmt.Sprintf(
				"8:0 rbytes=%d wbytes=500 rios=1 wios=2 dbytes=9 dios=0\n259:1 rbytes=1 wbytes=2 rios=3\n", read),
			"proc/net/dev": fmt.Sprintf(netDev, received),
		}
	}
	for name, tc := range map[string]struct {
		before, after map[string]string
		want          checkpoint.Beat
	}{
		"own namespace": {
			v2("0::/\n", "/x", 1e6, 0, 0), v2("0::/\n", "/x", 16e6, 50, 1e7),
			checkpoint.Beat{CPUs: 1.5, DiskBytesPerSecond: 5, NetworkBytesPerSecond: 1e6},
		},
		"namespace of the node": {
			v2("4:memory:/a\n0::/pods/b\n", "/pods/b/x", 1e6, 0, 0), v2("0::/pods/b\n", "/pods/b/x", 1e6, 0, 0),
			checkpoint.Beat{CPUs: leastCPUs},
		},
		"outside of the namespace": {
			v2("0::/../a\n", "/x", 0, 0, 0), v2("0::/../a\n", "/x", 1e6, 50, 0), checkpoint.Beat{},
		},
		"cgroup of version 1": {
			map[string]string{"proc/self/cgroup": "4:memory:/a\n1:cpu:/\n"},
			map[string]string{"proc/self/cgroup": "4:memory:/a\n0::/\n"}, checkpoint.Beat{},
		},
		"counters that became smaller": {
			v2("0::/\n", "/x", 9e6, 900, 900), v2("0::/\n", "/x", 1e6, 0, 0), checkpoint.Beat{},
		},
		"nothing to read": {nil, nil, checkpoint.Beat{}},
		"broken": {
			map[string]string{"proc/self/cgroup": "0::/\n", "cgroup/cpu.stat": "usage_usec", "proc/net/dev": "\x00:"},
			map[string]string{"proc/self/cgroup": "0::/\n", "cgroup/cpu.stat": "usage_usec -1\n",
				"cgroup/io.stat": "=\nrbytes=", "proc/net/dev": "e: 1 2"},
			checkpoint.Beat{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := fakeContainer(t, tc.before).usage(start)
			var got checkpoint.Beat
			fakeContainer(t, tc.after).usage(later).rates(before, &got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// stat is a line of /proc/PID/stat.
func stat(pid int, name string, state byte, parent, group, ticks int) string {
	return fmt.Sprintf("%d (%s) %c %d %d 1 0 -1 4194304 1 2 3 4 %d 0 0 0 20 0 1 0 77 1 2 3",
		pid, name, state, parent, group, ticks)
}

func TestProcesses(t *testing.T) {
	c := fakeContainer(t, map[string]string{
		"proc/1/stat":   stat(1, "agent", 'S', 0, 1, 1),
		"proc/2/stat":   stat(2, "python) R 1 (x", 'S', 1, 2, 5),
		"proc/3/stat":   stat(3, "worker", 'D', 2, 2, 6),
		"proc/4/stat":   stat(4, "orphan", 'R', 1, 4, 7),
		"proc/5/stat":   stat(5, "agent-scan", 'D', 1, 1, 8),
		"proc/6/stat":   stat(6, "pause", 'S', 0, 6, 9),
		"proc/7/stat":   "7 (half",
		"proc/8/stat":   stat(8, "of a sidecar", 'R', 6, 6, 9),
		"proc/self":     "",
		"proc/net/dev":  "",
		"proc/9/status": "ended meanwhile",
	})
	all, ok := c.processes()
	got := map[int]byte{}
	for _, p := range all {
		got[p.pid] = p.state
	}
	if diff := cmp.Diff(map[int]byte{2: 'S', 3: 'D', 4: 'R'}, got); diff != "" || !ok {
		t.Errorf("%t (-want +got):\n%s", ok, diff)
	}
	many := map[string]string{}
	for pid := range maxProcesses + 1 {
		many[fmt.Sprintf("proc/%d/stat", pid+2)] = stat(pid+2, "x", 'S', 1, 2, 1)
	}
	if all, ok := fakeContainer(t, many).processes(); ok {
		t.Errorf("%d processes were looked at", len(all))
	}
	if _, ok := (container{proc: filepath.Join(t.TempDir(), "none")}).processes(); ok {
		t.Error("processes were found in a directory that is not there")
	}
	loop := map[string]string{
		"proc/2/stat": stat(2, "a", 'S', 1, 2, 1), "proc/3/stat": stat(3, "b", 'S', 3, 2, 1),
	}
	if all, _ := fakeContainer(t, loop).processes(); len(all) != 1 {
		t.Errorf("a process that is its own parent: %v", all)
	}
}

func TestProcessStates(t *testing.T) {
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	of := func(states string, ticks uint64) []process {
		var all []process
		for i, state := range states {
			all = append(all, process{pid: i + 2, parent: 1, group: 2, state: byte(state), ticks: ticks, start: 7})
		}
		return all
	}
	for name, tc := range map[string]struct {
		reason string
		looks  [][]process
		want   string
	}{
		"runs":         {"one is enough", [][]process{of("SR", 1)}, "R 0"},
		"sleeps":       {"since the first look", [][]process{of("S", 1), of("SI", 1)}, "S 10"},
		"stopped":      {"zombies do not count", [][]process{of("TT", 1), of("TtZ", 1), of("TT", 1)}, "T 20"},
		"one stopped":  {"the others run", [][]process{of("TS", 1)}, "S 0"},
		"waits":        {"it computes nothing", [][]process{of("D", 1), of("DR", 1), of("DS", 1)}, "D 20"},
		"reads":        {"it is found in D each time, and computes", [][]process{of("D", 1), of("D", 2)}, "D 0"},
		"another":      {"each waits for itself", [][]process{of("DS", 1), of("SD", 1)}, "D 0"},
		"runs again":   {"the former state is over", [][]process{of("D", 1), of("D", 1), of("R", 1)}, "R 0"},
		"nothing left": {"there is no state", [][]process{of("S", 1), of("Z", 1)}, " 0"},
	} {
		t.Run(name, func(t *testing.T) {
			var s processStates
			now := start
			for i, look := range tc.looks {
				now = start.Add(time.Duration(i) * usagePoll)
				s = s.next(now, look)
			}
			var b checkpoint.Beat
			s.put(now, &b)
			if got := fmt.Sprintf("%s %g", b.State, b.StateSeconds); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestWaitOfTheFirstThread: the state of a process is that of its first thread, so what others compute does
// not end its wait.
func TestWaitOfTheFirstThread(t *testing.T) {
	c := fakeContainer(t, map[string]string{
		"proc/2/stat": stat(2, "python", 'D', 1, 2, 9), "proc/2/task/2/stat": stat(2, "python", 'D', 1, 2, 4),
	})
	all, ok := c.processes()
	if !ok || len(all) != 1 || all[0].ticks != 4 {
		t.Errorf("%+v, %t", all, ok)
	}
}

// FuzzStat: a name of a process can hold anything.
func FuzzStat(f *testing.F) {
	f.Add([]byte(stat(2, "python) R 1 (x", 'S', 1, 2, 5)))
	f.Add([]byte(strings.Repeat(")", 50)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, ok := parseStat(data); ok && p.pid < 0 {
			t.Errorf("%+v", p)
		}
	})
}

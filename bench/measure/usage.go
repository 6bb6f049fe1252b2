package measure

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ticksPerSecond is USER_HZ, the unit of times in /proc, which Linux fixes at 100 for user space (man 5
// proc).
const ticksPerSecond = 100

// Usage is what programs have used, by name. Several processes of a program count together.
type Usage struct {
	// CPU seconds. Where the machine limits a run they show which program did the work; other load hardly
	// affects them.
	CPU map[string]float64
	// PeakMemory is the largest resident size in bytes since the last ResetPeaks.
	PeakMemory map[string]int64
}

// processes are the programs below this process, by process ID: what it started, and what that started.
func processes() (map[int]program, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	all := map[int]program{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		p, err := parseStat(text)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		all[pid] = p
	}
	return descendants(all, os.Getpid()), nil
}

// descendants of a process, without itself.
func descendants(all map[int]program, root int) map[int]program {
	below := map[int]program{}
	for pid, p := range all {
		for at, hops := p, 0; hops < 64; hops++ {
			if at.parent == root {
				below[pid] = p
				break
			}
			next, ok := all[at.parent]
			if !ok {
				break
			}
			at = next
		}
	}
	return below
}

// PIDs of the programs that this process started, and of what those started.
func PIDs() ([]int, error) {
	running, err := processes()
	return slices.Sorted(maps.Keys(running)), err
}

// PIDsOf are those of one program.
func PIDsOf(name string) ([]int, error) {
	running, err := processes()
	if err != nil {
		return nil, err
	}
	var pids []int
	for pid, p := range running {
		if programName(pid, p.name) == name {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Used returns what the programs that this process started have used. A process that ends takes its share
// along: it is missing from later readings.
func Used() (Usage, error) {
	u := Usage{CPU: map[string]float64{}, PeakMemory: map[string]int64{}}
	running, err := processes()
	if err != nil {
		return u, err
	}
	for pid, p := range running {
		name := programName(pid, p.name)
		u.CPU[name] += float64(p.ticks) / ticksPerSecond
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // it has just ended
		}
		u.PeakMemory[name] += peak(status)
	}
	return u, nil
}

// ResetPeaks resets the peaks of memory (man 5 proc, clear_refs).
func ResetPeaks() error {
	running, err := processes()
	if err != nil {
		return err
	}
	for pid := range running {
		err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("resetting the peak of memory: %w", err)
		}
	}
	return nil
}

// Since returns the CPU seconds since an earlier reading, and the peaks. It leaves out programs that used
// less than 10 ms.
func (u Usage) Since(before Usage) Usage {
	used := Usage{CPU: map[string]float64{}, PeakMemory: map[string]int64{}}
	for name, t := range u.CPU {
		if d := t - before.CPU[name]; d >= 0.01 {
			used.CPU[name], used.PeakMemory[name] = d, u.PeakMemory[name]
		}
	}
	return used
}

// program is a process as /proc/<pid>/stat shows it.
type program struct {
	name          string
	parent, ticks int
}

// programName is the name of the program's file, which unlike the name in stat is not cut after 15
// characters.
func programName(pid int, otherwise string) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	first, _, _ := bytes.Cut(line, []byte{0})
	if err != nil || len(first) == 0 {
		return otherwise
	}
	return filepath.Base(string(first))
}

// parseStat reads the name (which the kernel truncates to 15 characters), the parent, and the ticks in user
// and kernel mode.
func parseStat(text []byte) (program, error) {
	begin, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return program{}, fmt.Errorf("no name in %q", text)
	}
	const ppid, utime, stime = 1, 11, 12 // indexes from the state, which follows the name
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) <= stime {
		return program{}, fmt.Errorf("too few fields in %q", text)
	}
	var numbers [3]int
	for i, at := range []int{ppid, utime, stime} {
		var err error
		if numbers[i], err = strconv.Atoi(fields[at]); err != nil {
			return program{}, err
		}
	}
	return program{name: string(text[begin+1 : end]), parent: numbers[0], ticks: numbers[1] + numbers[2]}, nil
}

// peak reads VmHWM from /proc/<pid>/status, in bytes; zero for a process that has no memory any more.
func peak(status []byte) int64 {
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}

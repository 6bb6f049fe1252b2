package measure

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticksPerSecond is USER_HZ, the unit of times in /proc, which Linux fixes at 100 for user space (man 5
// proc).
const ticksPerSecond = 100

// CPU returns the processor time in seconds that the children of this process have used so far, by program
// name. Where the machine limits a run it shows which program did the work; other load hardly affects it.
func CPU() (map[string]float64, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	used := map[string]float64{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		name, parent, ticks, err := parseStat(text)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		if parent == os.Getpid() {
			used[name] += float64(ticks) / ticksPerSecond
		}
	}
	return used, nil
}

// parseStat reads the name (which the kernel truncates to 15 characters), the parent, and the ticks in user
// and kernel mode.
func parseStat(text []byte) (name string, parent, ticks int, err error) {
	begin, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return "", 0, 0, fmt.Errorf("no name in %q", text)
	}
	const ppid, utime, stime = 1, 11, 12 // indexes from the state, which follows the name
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) <= stime {
		return "", 0, 0, fmt.Errorf("too few fields in %q", text)
	}
	var numbers [3]int
	for i, at := range []int{ppid, utime, stime} {
		if numbers[i], err = strconv.Atoi(fields[at]); err != nil {
			return "", 0, 0, err
		}
	}
	return string(text[begin+1 : end]), numbers[0], numbers[1] + numbers[2], nil
}

// Minus returns what was used since an earlier reading. It leaves out programs that used less than 10 ms.
func Minus(now, before map[string]float64) map[string]float64 {
	used := map[string]float64{}
	for name, t := range now {
		if d := t - before[name]; d >= 0.01 {
			used[name] = d
		}
	}
	return used
}

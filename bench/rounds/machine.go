package rounds

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"mlplatform.example.com/trainingjob-operator/bench/result"
)

// Machine describes the one that this process runs on. What cannot be found out is left empty.
func Machine() result.Machine {
	m := result.Machine{Processors: runtime.NumCPU(), Go: runtime.Version(), Commit: commit()}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	m.CPU = field("/proc/cpuinfo", "model name")
	total, _, _ := strings.Cut(field("/proc/meminfo", "MemTotal"), " ")
	if kib, err := strconv.ParseInt(total, 10, 64); err == nil {
		m.MemoryBytes = kib << 10
	}
	return m
}

// field is the first value of a key in a file of "key: value" lines.
func field(file, key string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(content)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// commit of the working directory, with "+" when its files differ from it.
func commit() string {
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return ""
	}
	changes, err := exec.Command("git", "status", "--porcelain").Output()
	if err != nil {
		return ""
	}
	if len(changes) > 0 {
		return strings.TrimSpace(string(head)) + "+"
	}
	return strings.TrimSpace(string(head))
}
